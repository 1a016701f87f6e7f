// Loops as a C programmer writes them, for gcc -O3 -march=native -ffast-math.
#include "peer.h"

const char peer_name[] = "c";
static const char *peer_version(void) { return "gcc " __VERSION__; }

static long n;
static float *restrict x, *restrict w, *restrict b, *restrict y, *restrict z;

#ifdef _OPENMP
#define EACH _Pragma("omp parallel for simd schedule(static)")
#else
#define EACH
#endif

static const char *vectors(const struct request *r) {
	if (strcmp(r->dtype, "f32"))
		return "the loops are written in f32";
	n = r->sizes[0];
	x = buffer(0, 4 * n), w = buffer(1, 4 * n), b = buffer(2, 4 * n), y = buffer(3, 4 * n), z = buffer(4, 4 * n);
	return NULL;
}

static void copy(void) {
	EACH
	for (long i = 0; i < n; i++)
		y[i] = x[i];
}

static void relu_mul_add(void) {
	EACH
	for (long i = 0; i < n; i++) {
		float v = x[i] * w[i] + b[i];
		y[i] = v > 0 ? v : 0;
	}
}

static void gelu_erf_mul(void) {
	EACH
	for (long i = 0; i < n; i++) {
		float v = x[i] * w[i] + b[i];
		y[i] = 0.5f * v * (1 + erff(v * 0.70710678f)) * x[i];
	}
}

static void gelu_tanh_mul(void) {
	EACH
	for (long i = 0; i < n; i++) {
		float v = x[i] * w[i] + b[i];
		y[i] = 0.5f * v * (1 + tanhf(0.79788456f * (v + 0.044715f * v * v * v))) * x[i];
	}
}

static void sigmoid(void) {
	EACH
	for (long i = 0; i < n; i++)
		y[i] = 1 / (1 + expf(-x[i]));
}

// The state is x (parameter), w and b (its moments), z (the gradient); steps go on.
static const char *adam_state(const struct request *r) {
	const char *why = vectors(r);
	for (long i = 0; !why && i < n; i++)
		b[i] = fabsf(b[i]);
	return why;
}

static void adam(void) {
	const float b1 = 0.9f, b2 = 0.999f, rate = 1e-4f, eps = 1e-8f;
	EACH
	for (long i = 0; i < n; i++) {
		w[i] = b1 * w[i] + (1 - b1) * z[i];
		b[i] = b2 * b[i] + (1 - b2) * z[i] * z[i];
		x[i] -= rate * w[i] / (sqrtf(b[i]) + eps);
	}
}

const struct workload workloads[] = {
	{"copy", vectors, copy},
	{"relu_mul_add", vectors, relu_mul_add},
	{"gelu_erf_mul", vectors, gelu_erf_mul},
	{"gelu_tanh_mul", vectors, gelu_tanh_mul},
	{"sigmoid", vectors, sigmoid},
	{"adam", adam_state, adam},
	{0},
};
