/*
 * A preload that moves the clock of a redis-server, and of nothing else: TIME, TIME
 * in Lua and the expiry of keys follow. EDGELIMIT_CLOCK_FILE names a file that begins
 * with one int64 in native byte order, the microseconds to add. The server maps it,
 * so a write in place moves the clock of a server that runs; a file put in its stead
 * is not seen, and a file cut short kills the server.
 *
 * The monotonic clock, by which the server's timers run, stays.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset;

/* A server whose clock cannot be moved must not pass for one whose clock was. */
__attribute__((constructor)) static void map(void)
{
	const char *name = getenv("EDGELIMIT_CLOCK_FILE");
	int file = name ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	void *at = MAP_FAILED;

	if (file >= 0 && lseek(file, 0, SEEK_END) >= (off_t)sizeof *offset)
		at = mmap(NULL, sizeof *offset, PROT_READ, MAP_SHARED, file, 0);
	if (at == MAP_FAILED) {
		fprintf(stderr, "EDGELIMIT_CLOCK_FILE names no readable file of 8 bytes: %s\n", name ? name : "unset");
		_exit(1);
	}
	close(file);
	offset = at;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	/* The raw call: the library's own function is the one that is replaced here. */
	int failed = syscall(SYS_clock_gettime, clock, t);

	/* Another library's constructor may ask before the file is mapped. */
	if (failed || !offset || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
		return failed;
	int64_t micros = *offset;
	int64_t nanos = t->tv_nsec + micros % 1000000 * 1000;
	t->tv_sec += micros / 1000000 + (nanos >= 1000000000) - (nanos < 0);
	t->tv_nsec = (nanos + 1000000000) % 1000000000;
	return 0;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (t)
		*t = now.tv_sec;
	return now.tv_sec;
}
