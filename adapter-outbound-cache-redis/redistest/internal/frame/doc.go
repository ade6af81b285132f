// Package frame splits the two directions of a Redis connection into whole requests and whole replies, and keeps
// their bytes as they came.
//
// The one rule that matters: no byte is lost. What was read of a frame that turned out broken is in its Raw beside
// the error, so that it can still be passed on.
//
// Only the frames are checked, not what is in them: ":abc\r\n" is a frame. Read [ReadReply] for the types.
package frame
