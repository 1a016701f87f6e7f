// Matrix products by OpenBLAS: gcc ... -lopenblas
#include "peer.h"

void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
void cblas_dgemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
void cblas_sgemv(int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
void openblas_set_num_threads(int);
char *openblas_get_config(void);
char *openblas_get_corename(void);

const char peer_name[] = "openblas";
static const char *peer_version(void) {
	static char v[256];
	snprintf(v, sizeof v, "%s %s", openblas_get_config(), openblas_get_corename());
	return v;
}

enum { row_major = 101, plain = 111, transposed = 112 };
static int m, n, k, wide;
static void *a, *b, *c;

static const char *matrices(const struct request *r) {
	wide = !strcmp(r->dtype, "f64");
	if (!wide && strcmp(r->dtype, "f32"))
		return "cblas has f32 and f64";
	size_t e = wide ? 8 : 4;
	m = r->sizes[0], n = r->sizes[1], k = r->sizes[2];
	openblas_set_num_threads(r->threads);
	a = buffer(0, e * m * k), b = buffer(1, e * k * n), c = buffer(2, e * m * n);
	for (long i = 0; wide && i < (long)m * k; i++)
		((double *)a)[i] = 0.5;
	for (long i = 0; wide && i < (long)k * n; i++)
		((double *)b)[i] = 0.25;
	return NULL;
}

static void matmul(void) {
	if (wide)
		cblas_dgemm(row_major, plain, plain, m, n, k, 1, a, k, b, n, 0, c, n);
	else if (m == 1)
		cblas_sgemv(row_major, transposed, k, n, 1, b, n, a, 1, 0, c, 1);
	else
		cblas_sgemm(row_major, plain, plain, m, n, k, 1, a, k, b, n, 0, c, n);
}

static void matmul_t(void) {
	if (wide)
		cblas_dgemm(row_major, plain, transposed, m, n, k, 1, a, k, b, k, 0, c, n);
	else if (m == 1)
		cblas_sgemv(row_major, plain, n, k, 1, b, k, a, 1, 0, c, 1);
	else
		cblas_sgemm(row_major, plain, transposed, m, n, k, 1, a, k, b, k, 0, c, n);
}

const struct workload workloads[] = {
	{"matmul", matrices, matmul},
	{"matmul_packed", matrices, matmul},
	{"matmul_t", matrices, matmul_t},
	{0},
};
