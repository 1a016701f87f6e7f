// The frame of a peer in C: it reads requests and times what the file that
// includes it lists in `workloads`. See bench/README.md for the protocol.
#ifndef PEER_H
#define PEER_H
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#define MAX_SIZES 16

struct request {
	char workload[64], dtype[16];
	long sizes[MAX_SIZES];
	int nsizes, threads, warmup, rounds;
	double ms; // a round lasts at least so long
	clockid_t clock;
};

// workload is what can be measured. prepare makes its memory and returns why it
// cannot, or NULL; it is not called again for the same request. run is one call.
struct workload {
	const char *name;
	const char *(*prepare)(const struct request *);
	void (*run)(void);
};

// A file has these three.
extern const struct workload workloads[]; // the last one has no name
extern const char peer_name[];
static const char *peer_version(void);

// fill writes values in (-1, 1), the same ones each time.
static inline void fill(float *x, long n) {
	uint32_t s = 1;
	for (long i = 0; i < n; i++) {
		s = s * 1664525u + 1013904223u;
		x[i] = (float)(int32_t)s / 2147483648.0f;
	}
}

// buffer returns memory that is aligned to a cache line and filled with floats;
// each number names one, which is used again.
static inline void *buffer(int number, size_t bytes) {
	static struct { void *p; size_t n; } kept[16];
	if (kept[number].n < bytes) {
		free(kept[number].p);
		kept[number].n = (bytes + 4095) / 4096 * 4096;
		kept[number].p = aligned_alloc(4096, kept[number].n);
		if (!kept[number].p) {
			fprintf(stderr, "no memory for %zu bytes\n", bytes);
			exit(1);
		}
	}
	fill(kept[number].p, (bytes + 3) / 4);
	return kept[number].p;
}

static double seconds(clockid_t clock) {
	struct timespec t;
	clock_gettime(clock, &t);
	return t.tv_sec + 1e-9 * t.tv_nsec;
}

static const char *after(const char *line, const char *key) {
	char quoted[80];
	snprintf(quoted, sizeof quoted, "\"%s\":", key);
	const char *p = strstr(line, quoted);
	if (!p)
		return NULL;
	for (p += strlen(quoted); *p == ' ' || *p == '"' || *p == '['; p++) {
	}
	return p;
}

static void word_of(const char *line, const char *key, char *to, size_t n) {
	const char *p = after(line, key);
	size_t i = 0;
	for (; p && *p && *p != '"' && i + 1 < n; p++)
		to[i++] = *p;
	to[i] = 0;
}

static double number_of(const char *line, const char *key, double otherwise) {
	const char *p = after(line, key);
	return p ? strtod(p, NULL) : otherwise;
}

static struct request parse(const char *line) {
	struct request r = {0};
	word_of(line, "workload", r.workload, sizeof r.workload);
	word_of(line, "dtype", r.dtype, sizeof r.dtype);
	r.threads = number_of(line, "threads", 1);
	r.warmup = number_of(line, "warmup", 1);
	r.rounds = number_of(line, "rounds", 1);
	r.ms = number_of(line, "ms", 2);
	char clock[8];
	word_of(line, "clock", clock, sizeof clock);
	r.clock = strcmp(clock, "cpu") ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
	const char *p = after(line, "sizes");
	while (p && *p && *p != ']' && r.nsizes < MAX_SIZES) {
		char *end;
		r.sizes[r.nsizes++] = strtol(p, &end, 10);
		if (end == p)
			break;
		for (p = end; *p == ',' || *p == ' '; p++) {
		}
	}
	return r;
}

static double measure(const struct workload *w, double ms, clockid_t clock) {
	double start = seconds(clock), took = 0;
	long n = 0, batch = 1;
	do { // batches grow, so that the clock weighs little
		for (long i = 0; i < batch; i++)
			w->run();
		n += batch;
		took = seconds(clock) - start;
		if (took * 1e3 < ms / 8)
			batch *= 2;
	} while (took * 1e3 < ms);
	return took * 1e9 / n;
}

int main(void) {
	static char line[1 << 16], prepared[1 << 16];
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("{\"peer\":\"%s\",\"version\":\"%s\"}\n", peer_name, peer_version());
	while (fgets(line, sizeof line, stdin)) {
		struct request r = parse(line);
		const struct workload *w = workloads;
		while (w->name && strcmp(w->name, r.workload))
			w++;
		if (!w->name) {
			printf("{\"skip\":\"%s has no %s\"}\n", peer_name, r.workload);
			continue;
		}
		if (strcmp(line, prepared)) {
#ifdef _OPENMP
			omp_set_num_threads(r.threads);
#endif
			const char *why = w->prepare(&r);
			if (why) {
				printf("{\"skip\":\"%s\"}\n", why);
				prepared[0] = 0;
				continue;
			}
			strcpy(prepared, line);
		}
		for (int i = 0; i < r.warmup; i++)
			w->run();
		printf("{\"ns\":[");
		for (int i = 0; i < r.rounds; i++)
			printf("%s%.1f", i ? "," : "", measure(w, r.ms, r.clock));
		printf("]}\n");
	}
	return 0;
}
#endif
