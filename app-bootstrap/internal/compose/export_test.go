package compose

// ConnectionOf is what the coordination client is opened by.
var ConnectionOf = connectionOf
