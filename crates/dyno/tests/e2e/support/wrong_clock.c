/* A clock that is wrong. Loaded before the C library (LD_PRELOAD), this adds to what clock_gettime tells what the file
 * says that WRONG_CLOCK names: three 64-bit integers, which may change meanwhile. The kernel has a namespace for the
 * monotonic clock's begin, but none for the time of day and none for a clock's speed. */

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct {
    int64_t time_of_day_ns;
    int64_t monotonic_ns;
    int64_t drift_ppm;
} const volatile *wrong;

static int64_t began_ns;

static int64_t read_ns(clockid_t clock, int *failed) {
    struct timespec time = {0};
    *failed = (int)syscall(SYS_clock_gettime, clock, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("WRONG_CLOCK");
    int failed, file = name ? open(name, O_RDONLY) : -1;
    began_ns = read_ns(CLOCK_MONOTONIC, &failed);
    void *map = file < 0 ? MAP_FAILED : mmap(NULL, sizeof *wrong, PROT_READ, MAP_SHARED, file, 0);
    /* Without it every clock would be right, and the test in vain. */
    if (map == MAP_FAILED)
        abort();
    wrong = map;
    close(file);
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed;
    int64_t now_ns = read_ns(clock, &failed);
    if (wrong && clock == CLOCK_REALTIME)
        now_ns += wrong->time_of_day_ns;
    if (wrong && clock == CLOCK_MONOTONIC)
        now_ns += wrong->monotonic_ns + (now_ns - began_ns) / 1000 * wrong->drift_ppm / 1000;
    time->tv_sec = now_ns / 1000000000;
    time->tv_nsec = now_ns % 1000000000;
    return failed;
}
