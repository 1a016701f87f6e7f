// Matrix products by oneDNN: gcc ... -ldnnl
#include "peer.h"

int dnnl_sgemm(char, char, long, long, long, float, const float *, long, const float *, long, float, float *, long);
int dnnl_gemm_s8s8s32(char, char, char, long, long, long, float, const int8_t *, long, int8_t, const int8_t *, long, int8_t, float, int32_t *, long,
                      const int32_t *);
struct dnnl_version { int major, minor, patch; };
const struct dnnl_version *dnnl_version(void);

const char peer_name[] = "onednn";
static const char *peer_version(void) {
	static char v[64];
	const struct dnnl_version *d = dnnl_version();
	snprintf(v, sizeof v, "%d.%d.%d", d->major, d->minor, d->patch);
	return v;
}

static long m, n, k;
static int bytes;
static void *a, *b, *c;

static const char *matrices(const struct request *r) {
	bytes = !strcmp(r->dtype, "i8");
	if (!bytes && strcmp(r->dtype, "f32"))
		return "measured in f32 and i8";
	size_t e = bytes ? 1 : 4;
	m = r->sizes[0], n = r->sizes[1], k = r->sizes[2];
	a = buffer(0, e * m * k), b = buffer(1, e * k * n), c = buffer(2, 4 * m * n);
	return NULL;
}

static void matmul(void) {
	int32_t none = 0;
	if (bytes)
		dnnl_gemm_s8s8s32('N', 'N', 'F', m, n, k, 1, a, k, 0, b, n, 0, 0, c, n, &none);
	else
		dnnl_sgemm('N', 'N', m, n, k, 1, a, k, b, n, 0, c, n);
}

static void matmul_t(void) {
	int32_t none = 0;
	if (bytes)
		dnnl_gemm_s8s8s32('N', 'T', 'F', m, n, k, 1, a, k, 0, b, k, 0, 0, c, n, &none);
	else
		dnnl_sgemm('N', 'T', m, n, k, 1, a, k, b, k, 0, c, n);
}

const struct workload workloads[] = {
	{"matmul", matrices, matmul},
	{"matmul_packed", matrices, matmul},
	{"matmul_t", matrices, matmul_t},
	{0},
};
