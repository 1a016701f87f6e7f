package asm

// Op is a vector operation: an index into the table.
type Op uint8

const (
	vexOK  = 1
	evexOK = 2
	both   = vexOK | evexOK
)

// row describes one operation. pp is the mandatory prefix (0, 66, F3, F2), mm
// the opcode map (0F, 0F38, 0F3A), w and ew the W bit under VEX and EVEX.
type row struct {
	name  string // mnemonic under VEX, or the only one
	ename string // mnemonic under EVEX where it differs
	pp    uint8
	mm    uint8
	opc   uint8
	w, ew uint8
	digit uint8 // opcode extension of shifts by an immediate
	elem  uint8 // bytes of an embedded broadcast element; 0 where there is none
	enc   uint8
	// frac is the binary logarithm of the part of a vector that a memory
	// operand spans: 1 for a half, 2 for a quarter.
	frac   uint8
	scalar bool // a memory operand is one element of elem bytes
	lig    bool // the length is ignored; encoded as 128 bits
}

// The vector operations. Names follow the mnemonics of the manual.
const (
	VADDPS Op = iota
	VADDPD
	VSUBPS
	VSUBPD
	VMULPS
	VMULPD
	VDIVPS
	VDIVPD
	VMINPS
	VMINPD
	VMAXPS
	VMAXPD
	VRANGEPS
	VRANGEPD
	VSQRTPS
	VSQRTPD
	VFMADD213PS
	VFMADD213PD
	VFMADD231PS
	VFMADD231PD
	VFMADD132PS
	VFMADD132PD
	VDPBF16PS
	VPDPBUSD
	VPDPWSSD
	VPMADDWD
	VPUNPCKLBW
	VPUNPCKHBW
	VPUNPCKLWD
	VPUNPCKHWD
	VFNMADD213PS
	VFNMADD213PD
	VFNMADD231PS
	VFNMADD231PD
	VSCALEFPS
	VSCALEFPD
	VPAND
	VPANDN
	VPOR
	VPXOR
	VPANDQ
	VPANDNQ
	VPORQ
	VPXORQ
	VPTERNLOGD
	VCMPPS
	VCMPPD
	VCMPPSK
	VCMPPDK
	VPCMPEQD
	VPCMPEQQ
	VPCMPGTD
	VPCMPGTQ
	VPCMPDK
	VPCMPUDK
	VPCMPQK
	VPCMPUQK
	VPTESTMD
	VPTESTMQ
	VPMOVM2D
	VPMOVM2Q
	VPMOVD2M
	VPMOVQ2M
	VBLENDVPS
	VBLENDVPD
	VPBLENDMD
	VPBLENDMQ
	VROUNDPS
	VROUNDPD
	VPADDD
	VPADDQ
	VPSUBD
	VPSUBQ
	VPMULLD
	VPMULLQ
	VPMULUDQ
	VPMINSD
	VPMINUD
	VPMAXSD
	VPMAXUD
	VPMINSQ
	VPMINUQ
	VPMAXSQ
	VPMAXUQ
	VPABSD
	VPABSQ
	VPSLLD
	VPSRLD
	VPSRAD
	VPSLLQ
	VPSRLQ
	VPSRAQ
	VPSLLVD
	VPSLLVQ
	VPSRLVD
	VPSRLVQ
	VPSRAVD
	VPSRAVQ
	VCVTDQ2PS
	VCVTTPS2DQ
	VCVTPS2PD
	VCVTPD2PS
	VCVTDQ2PD
	VCVTTPD2DQ
	VCVTUDQ2PS
	VCVTUDQ2PD
	VCVTTPS2UDQ
	VCVTTPD2UDQ
	VCVTQQ2PS
	VCVTQQ2PD
	VCVTUQQ2PS
	VCVTUQQ2PD
	VCVTTPS2QQ
	VCVTTPD2QQ
	VCVTTPS2UQQ
	VCVTTPD2UQQ
	VCVTPH2PS
	VCVTPS2PH
	VPMOVZXBD
	VPMOVSXBD
	VPMOVZXWD
	VPMOVSXWD
	VPMOVZXDQ
	VPMOVSXDQ
	VPMOVZXBQ
	VPMOVSXBQ
	VPMOVDB
	VPMOVDW
	VPMOVQD
	VPMOVQB
	VBROADCASTSS
	VBROADCASTSD
	VPBROADCASTDR
	VPBROADCASTQR
	VPBROADCASTB
	VPBROADCASTW
	VEXTRACTF128
	VEXTRACTF64X4
	VINSERTF128
	VINSERTF64X4
	VPERMQ
	VPERMD
	VSHUFPS
	VPSHUFD
	VPSHUFB
	VSHUFF32X4
	VUNPCKLPS
	VUNPCKHPS
	VUNPCKHPD
	VMOVHLPS
	VMOVSHDUP
	VPERM2F128
	VPACKUSDW
	VPACKUSWB
	VPACKSSDW
	VMOVUPS
	VMOVUPSST
	VMOVDQU64
	VMOVDQU64ST
	VMOVDQU16
	VMOVDQU16ST
	VMOVDQU8
	VMOVDQU8ST
	VMOVNTPS
	VMASKMOVPS
	VMASKMOVPSST
	VPMASKMOVQ
	VPMASKMOVQST
	VMOVSS
	VMOVSSST
	VMOVSD
	VMOVSDST
	VMOVD
	VMOVDST
	VMOVQ
	VMOVQST
	VPEXTRB
	VPEXTRW
	VPINSRB
	VPINSRW
	VMOVMSKPS
	VMOVMSKPD
	VCVTSI2SS
	VCVTSI2SD
	VCVTTSD2SI

	numOps
)

var table = [numOps]row{
	VADDPS:      {name: "vaddps", mm: 1, opc: 0x58, elem: 4, enc: both},
	VADDPD:      {name: "vaddpd", pp: 1, mm: 1, opc: 0x58, ew: 1, elem: 8, enc: both},
	VSUBPS:      {name: "vsubps", mm: 1, opc: 0x5c, elem: 4, enc: both},
	VSUBPD:      {name: "vsubpd", pp: 1, mm: 1, opc: 0x5c, ew: 1, elem: 8, enc: both},
	VMULPS:      {name: "vmulps", mm: 1, opc: 0x59, elem: 4, enc: both},
	VMULPD:      {name: "vmulpd", pp: 1, mm: 1, opc: 0x59, ew: 1, elem: 8, enc: both},
	VDIVPS:      {name: "vdivps", mm: 1, opc: 0x5e, elem: 4, enc: both},
	VDIVPD:      {name: "vdivpd", pp: 1, mm: 1, opc: 0x5e, ew: 1, elem: 8, enc: both},
	VMINPS:      {name: "vminps", mm: 1, opc: 0x5d, elem: 4, enc: both},
	VMINPD:      {name: "vminpd", pp: 1, mm: 1, opc: 0x5d, ew: 1, elem: 8, enc: both},
	VMAXPS:      {name: "vmaxps", mm: 1, opc: 0x5f, elem: 4, enc: both},
	VMAXPD:      {name: "vmaxpd", pp: 1, mm: 1, opc: 0x5f, ew: 1, elem: 8, enc: both},
	VRANGEPS:    {name: "vrangeps", pp: 1, mm: 3, opc: 0x50, elem: 4, enc: evexOK},
	VRANGEPD:    {name: "vrangepd", pp: 1, mm: 3, opc: 0x50, ew: 1, elem: 8, enc: evexOK},
	VSQRTPS:     {name: "vsqrtps", mm: 1, opc: 0x51, elem: 4, enc: both},
	VSQRTPD:     {name: "vsqrtpd", pp: 1, mm: 1, opc: 0x51, ew: 1, elem: 8, enc: both},
	VFMADD213PS: {name: "vfmadd213ps", pp: 1, mm: 2, opc: 0xa8, elem: 4, enc: both},
	VFMADD213PD: {name: "vfmadd213pd", pp: 1, mm: 2, opc: 0xa8, w: 1, ew: 1, elem: 8, enc: both},
	VFMADD231PS: {name: "vfmadd231ps", pp: 1, mm: 2, opc: 0xb8, elem: 4, enc: both},
	VFMADD231PD: {name: "vfmadd231pd", pp: 1, mm: 2, opc: 0xb8, w: 1, ew: 1, elem: 8, enc: both},
	VFMADD132PS: {name: "vfmadd132ps", pp: 1, mm: 2, opc: 0x98, elem: 4, enc: both},
	VFMADD132PD: {name: "vfmadd132pd", pp: 1, mm: 2, opc: 0x98, w: 1, ew: 1, elem: 8, enc: both},
	VDPBF16PS:   {name: "vdpbf16ps", pp: 2, mm: 2, opc: 0x52, elem: 4, enc: evexOK},
	VPDPWSSD:    {name: "vpdpwssd", pp: 1, mm: 2, opc: 0x52, elem: 4, enc: evexOK},
	VPMADDWD:    {name: "vpmaddwd", pp: 1, mm: 1, opc: 0xf5, enc: both},
	VPUNPCKLBW:  {name: "vpunpcklbw", pp: 1, mm: 1, opc: 0x60, enc: both},
	VPUNPCKHBW:  {name: "vpunpckhbw", pp: 1, mm: 1, opc: 0x68, enc: both},
	VPUNPCKLWD:  {name: "vpunpcklwd", pp: 1, mm: 1, opc: 0x61, enc: both},
	VPUNPCKHWD:  {name: "vpunpckhwd", pp: 1, mm: 1, opc: 0x69, enc: both},
	VPDPBUSD:    {name: "vpdpbusd", pp: 1, mm: 2, opc: 0x50, elem: 4, enc: evexOK},

	VFNMADD213PS: {name: "vfnmadd213ps", pp: 1, mm: 2, opc: 0xac, elem: 4, enc: both},
	VFNMADD213PD: {name: "vfnmadd213pd", pp: 1, mm: 2, opc: 0xac, w: 1, ew: 1, elem: 8, enc: both},
	VFNMADD231PS: {name: "vfnmadd231ps", pp: 1, mm: 2, opc: 0xbc, elem: 4, enc: both},
	VFNMADD231PD: {name: "vfnmadd231pd", pp: 1, mm: 2, opc: 0xbc, w: 1, ew: 1, elem: 8, enc: both},
	VSCALEFPS:    {name: "vscalefps", pp: 1, mm: 2, opc: 0x2c, elem: 4, enc: evexOK},
	VSCALEFPD:    {name: "vscalefpd", pp: 1, mm: 2, opc: 0x2c, ew: 1, elem: 8, enc: evexOK},

	VPAND:      {name: "vpand", ename: "vpandd", pp: 1, mm: 1, opc: 0xdb, elem: 4, enc: both},
	VPANDN:     {name: "vpandn", ename: "vpandnd", pp: 1, mm: 1, opc: 0xdf, elem: 4, enc: both},
	VPOR:       {name: "vpor", ename: "vpord", pp: 1, mm: 1, opc: 0xeb, elem: 4, enc: both},
	VPXOR:      {name: "vpxor", ename: "vpxord", pp: 1, mm: 1, opc: 0xef, elem: 4, enc: both},
	VPANDQ:     {name: "vpand", ename: "vpandq", pp: 1, mm: 1, opc: 0xdb, ew: 1, elem: 8, enc: both},
	VPANDNQ:    {name: "vpandn", ename: "vpandnq", pp: 1, mm: 1, opc: 0xdf, ew: 1, elem: 8, enc: both},
	VPORQ:      {name: "vpor", ename: "vporq", pp: 1, mm: 1, opc: 0xeb, ew: 1, elem: 8, enc: both},
	VPXORQ:     {name: "vpxor", ename: "vpxorq", pp: 1, mm: 1, opc: 0xef, ew: 1, elem: 8, enc: both},
	VPTERNLOGD: {name: "vpternlogd", pp: 1, mm: 3, opc: 0x25, elem: 4, enc: evexOK},

	VCMPPS:   {name: "vcmpps", mm: 1, opc: 0xc2, enc: vexOK},
	VCMPPD:   {name: "vcmppd", pp: 1, mm: 1, opc: 0xc2, enc: vexOK},
	VCMPPSK:  {name: "vcmpps", mm: 1, opc: 0xc2, elem: 4, enc: evexOK},
	VCMPPDK:  {name: "vcmppd", pp: 1, mm: 1, opc: 0xc2, ew: 1, elem: 8, enc: evexOK},
	VPCMPEQD: {name: "vpcmpeqd", pp: 1, mm: 1, opc: 0x76, enc: vexOK},
	VPCMPEQQ: {name: "vpcmpeqq", pp: 1, mm: 2, opc: 0x29, enc: vexOK},
	VPCMPGTD: {name: "vpcmpgtd", pp: 1, mm: 1, opc: 0x66, enc: vexOK},
	VPCMPGTQ: {name: "vpcmpgtq", pp: 1, mm: 2, opc: 0x37, enc: vexOK},
	VPCMPDK:  {name: "vpcmpd", pp: 1, mm: 3, opc: 0x1f, elem: 4, enc: evexOK},
	VPCMPUDK: {name: "vpcmpud", pp: 1, mm: 3, opc: 0x1e, elem: 4, enc: evexOK},
	VPCMPQK:  {name: "vpcmpq", pp: 1, mm: 3, opc: 0x1f, ew: 1, elem: 8, enc: evexOK},
	VPCMPUQK: {name: "vpcmpuq", pp: 1, mm: 3, opc: 0x1e, ew: 1, elem: 8, enc: evexOK},
	VPTESTMD: {name: "vptestmd", pp: 1, mm: 2, opc: 0x27, elem: 4, enc: evexOK},
	VPTESTMQ: {name: "vptestmq", pp: 1, mm: 2, opc: 0x27, ew: 1, elem: 8, enc: evexOK},
	VPMOVM2D: {name: "vpmovm2d", pp: 2, mm: 2, opc: 0x38, enc: evexOK},
	VPMOVM2Q: {name: "vpmovm2q", pp: 2, mm: 2, opc: 0x38, ew: 1, enc: evexOK},
	VPMOVD2M: {name: "vpmovd2m", pp: 2, mm: 2, opc: 0x39, enc: evexOK},
	VPMOVQ2M: {name: "vpmovq2m", pp: 2, mm: 2, opc: 0x39, ew: 1, enc: evexOK},

	VBLENDVPS: {name: "vblendvps", pp: 1, mm: 3, opc: 0x4a, enc: vexOK},
	VBLENDVPD: {name: "vblendvpd", pp: 1, mm: 3, opc: 0x4b, enc: vexOK},
	VPBLENDMD: {name: "vpblendmd", pp: 1, mm: 2, opc: 0x64, elem: 4, enc: evexOK},
	VPBLENDMQ: {name: "vpblendmq", pp: 1, mm: 2, opc: 0x64, ew: 1, elem: 8, enc: evexOK},
	VROUNDPS:  {name: "vroundps", ename: "vrndscaleps", pp: 1, mm: 3, opc: 0x08, elem: 4, enc: both},
	VROUNDPD:  {name: "vroundpd", ename: "vrndscalepd", pp: 1, mm: 3, opc: 0x09, ew: 1, elem: 8, enc: both},

	VPADDD:   {name: "vpaddd", pp: 1, mm: 1, opc: 0xfe, elem: 4, enc: both},
	VPADDQ:   {name: "vpaddq", pp: 1, mm: 1, opc: 0xd4, ew: 1, elem: 8, enc: both},
	VPSUBD:   {name: "vpsubd", pp: 1, mm: 1, opc: 0xfa, elem: 4, enc: both},
	VPSUBQ:   {name: "vpsubq", pp: 1, mm: 1, opc: 0xfb, ew: 1, elem: 8, enc: both},
	VPMULLD:  {name: "vpmulld", pp: 1, mm: 2, opc: 0x40, elem: 4, enc: both},
	VPMULLQ:  {name: "vpmullq", pp: 1, mm: 2, opc: 0x40, ew: 1, elem: 8, enc: evexOK},
	VPMULUDQ: {name: "vpmuludq", pp: 1, mm: 1, opc: 0xf4, ew: 1, elem: 8, enc: both},
	VPMINSD:  {name: "vpminsd", pp: 1, mm: 2, opc: 0x39, elem: 4, enc: both},
	VPMINUD:  {name: "vpminud", pp: 1, mm: 2, opc: 0x3b, elem: 4, enc: both},
	VPMAXSD:  {name: "vpmaxsd", pp: 1, mm: 2, opc: 0x3d, elem: 4, enc: both},
	VPMAXUD:  {name: "vpmaxud", pp: 1, mm: 2, opc: 0x3f, elem: 4, enc: both},
	VPMINSQ:  {name: "vpminsq", pp: 1, mm: 2, opc: 0x39, ew: 1, elem: 8, enc: evexOK},
	VPMINUQ:  {name: "vpminuq", pp: 1, mm: 2, opc: 0x3b, ew: 1, elem: 8, enc: evexOK},
	VPMAXSQ:  {name: "vpmaxsq", pp: 1, mm: 2, opc: 0x3d, ew: 1, elem: 8, enc: evexOK},
	VPMAXUQ:  {name: "vpmaxuq", pp: 1, mm: 2, opc: 0x3f, ew: 1, elem: 8, enc: evexOK},
	VPABSD:   {name: "vpabsd", pp: 1, mm: 2, opc: 0x1e, elem: 4, enc: both},
	VPABSQ:   {name: "vpabsq", pp: 1, mm: 2, opc: 0x1f, ew: 1, elem: 8, enc: evexOK},

	VPSLLD:  {name: "vpslld", pp: 1, mm: 1, opc: 0x72, digit: 6, enc: both},
	VPSRLD:  {name: "vpsrld", pp: 1, mm: 1, opc: 0x72, digit: 2, enc: both},
	VPSRAD:  {name: "vpsrad", pp: 1, mm: 1, opc: 0x72, digit: 4, enc: both},
	VPSLLQ:  {name: "vpsllq", pp: 1, mm: 1, opc: 0x73, ew: 1, digit: 6, enc: both},
	VPSRLQ:  {name: "vpsrlq", pp: 1, mm: 1, opc: 0x73, ew: 1, digit: 2, enc: both},
	VPSRAQ:  {name: "vpsraq", pp: 1, mm: 1, opc: 0x72, ew: 1, digit: 4, enc: evexOK},
	VPSLLVD: {name: "vpsllvd", pp: 1, mm: 2, opc: 0x47, elem: 4, enc: both},
	VPSLLVQ: {name: "vpsllvq", pp: 1, mm: 2, opc: 0x47, w: 1, ew: 1, elem: 8, enc: both},
	VPSRLVD: {name: "vpsrlvd", pp: 1, mm: 2, opc: 0x45, elem: 4, enc: both},
	VPSRLVQ: {name: "vpsrlvq", pp: 1, mm: 2, opc: 0x45, w: 1, ew: 1, elem: 8, enc: both},
	VPSRAVD: {name: "vpsravd", pp: 1, mm: 2, opc: 0x46, elem: 4, enc: both},
	VPSRAVQ: {name: "vpsravq", pp: 1, mm: 2, opc: 0x46, ew: 1, elem: 8, enc: evexOK},

	VCVTDQ2PS:   {name: "vcvtdq2ps", mm: 1, opc: 0x5b, elem: 4, enc: both},
	VCVTTPS2DQ:  {name: "vcvttps2dq", pp: 2, mm: 1, opc: 0x5b, elem: 4, enc: both},
	VCVTPS2PD:   {name: "vcvtps2pd", mm: 1, opc: 0x5a, elem: 4, enc: both, frac: 1},
	VCVTPD2PS:   {name: "vcvtpd2ps", pp: 1, mm: 1, opc: 0x5a, ew: 1, elem: 8, enc: both},
	VCVTDQ2PD:   {name: "vcvtdq2pd", pp: 2, mm: 1, opc: 0xe6, elem: 4, enc: both, frac: 1},
	VCVTTPD2DQ:  {name: "vcvttpd2dq", pp: 1, mm: 1, opc: 0xe6, ew: 1, elem: 8, enc: both},
	VCVTUDQ2PS:  {name: "vcvtudq2ps", pp: 3, mm: 1, opc: 0x7a, elem: 4, enc: evexOK},
	VCVTUDQ2PD:  {name: "vcvtudq2pd", pp: 2, mm: 1, opc: 0x7a, elem: 4, enc: evexOK, frac: 1},
	VCVTTPS2UDQ: {name: "vcvttps2udq", mm: 1, opc: 0x78, elem: 4, enc: evexOK},
	VCVTTPD2UDQ: {name: "vcvttpd2udq", mm: 1, opc: 0x78, ew: 1, elem: 8, enc: evexOK},
	VCVTQQ2PS:   {name: "vcvtqq2ps", mm: 1, opc: 0x5b, ew: 1, elem: 8, enc: evexOK},
	VCVTQQ2PD:   {name: "vcvtqq2pd", pp: 2, mm: 1, opc: 0xe6, ew: 1, elem: 8, enc: evexOK},
	VCVTUQQ2PS:  {name: "vcvtuqq2ps", pp: 3, mm: 1, opc: 0x7a, ew: 1, elem: 8, enc: evexOK},
	VCVTUQQ2PD:  {name: "vcvtuqq2pd", pp: 2, mm: 1, opc: 0x7a, ew: 1, elem: 8, enc: evexOK},
	VCVTTPS2QQ:  {name: "vcvttps2qq", pp: 1, mm: 1, opc: 0x7a, elem: 4, enc: evexOK, frac: 1},
	VCVTTPD2QQ:  {name: "vcvttpd2qq", pp: 1, mm: 1, opc: 0x7a, ew: 1, elem: 8, enc: evexOK},
	VCVTTPS2UQQ: {name: "vcvttps2uqq", pp: 1, mm: 1, opc: 0x78, elem: 4, enc: evexOK, frac: 1},
	VCVTTPD2UQQ: {name: "vcvttpd2uqq", pp: 1, mm: 1, opc: 0x78, ew: 1, elem: 8, enc: evexOK},
	VCVTPH2PS:   {name: "vcvtph2ps", pp: 1, mm: 2, opc: 0x13, enc: both, frac: 1},
	VCVTPS2PH:   {name: "vcvtps2ph", pp: 1, mm: 3, opc: 0x1d, enc: both, frac: 1},

	VPMOVZXBD: {name: "vpmovzxbd", pp: 1, mm: 2, opc: 0x31, enc: both, frac: 2},
	VPMOVSXBD: {name: "vpmovsxbd", pp: 1, mm: 2, opc: 0x21, enc: both, frac: 2},
	VPMOVZXWD: {name: "vpmovzxwd", pp: 1, mm: 2, opc: 0x33, enc: both, frac: 1},
	VPMOVSXWD: {name: "vpmovsxwd", pp: 1, mm: 2, opc: 0x23, enc: both, frac: 1},
	VPMOVZXDQ: {name: "vpmovzxdq", pp: 1, mm: 2, opc: 0x35, enc: both, frac: 1},
	VPMOVSXDQ: {name: "vpmovsxdq", pp: 1, mm: 2, opc: 0x25, enc: both, frac: 1},
	VPMOVZXBQ: {name: "vpmovzxbq", pp: 1, mm: 2, opc: 0x32, enc: both, frac: 3},
	VPMOVSXBQ: {name: "vpmovsxbq", pp: 1, mm: 2, opc: 0x22, enc: both, frac: 3},
	VPMOVDB:   {name: "vpmovdb", pp: 2, mm: 2, opc: 0x31, enc: evexOK, frac: 2},
	VPMOVDW:   {name: "vpmovdw", pp: 2, mm: 2, opc: 0x33, enc: evexOK, frac: 1},
	VPMOVQD:   {name: "vpmovqd", pp: 2, mm: 2, opc: 0x35, enc: evexOK, frac: 1},
	VPMOVQB:   {name: "vpmovqb", pp: 2, mm: 2, opc: 0x32, enc: evexOK, frac: 3},

	VBROADCASTSS:  {name: "vbroadcastss", pp: 1, mm: 2, opc: 0x18, elem: 4, enc: both, scalar: true},
	VBROADCASTSD:  {name: "vbroadcastsd", pp: 1, mm: 2, opc: 0x19, ew: 1, elem: 8, enc: both, scalar: true},
	VPBROADCASTDR: {name: "vpbroadcastd", pp: 1, mm: 2, opc: 0x7c, enc: evexOK},
	VPBROADCASTQR: {name: "vpbroadcastq", pp: 1, mm: 2, opc: 0x7c, ew: 1, enc: evexOK},
	VPBROADCASTB:  {name: "vpbroadcastb", pp: 1, mm: 2, opc: 0x78, elem: 1, enc: both, scalar: true},
	VPBROADCASTW:  {name: "vpbroadcastw", pp: 1, mm: 2, opc: 0x79, elem: 2, enc: both, scalar: true},

	VEXTRACTF128:  {name: "vextractf128", ename: "vextractf32x4", pp: 1, mm: 3, opc: 0x19, elem: 16, enc: both, scalar: true},
	VEXTRACTF64X4: {name: "vextractf64x4", pp: 1, mm: 3, opc: 0x1b, ew: 1, elem: 32, enc: evexOK, scalar: true},
	VINSERTF128:   {name: "vinsertf128", ename: "vinsertf32x4", pp: 1, mm: 3, opc: 0x18, elem: 16, enc: both, scalar: true},
	VINSERTF64X4:  {name: "vinsertf64x4", pp: 1, mm: 3, opc: 0x1a, ew: 1, elem: 32, enc: evexOK, scalar: true},
	VPERMQ:        {name: "vpermq", pp: 1, mm: 3, opc: 0x00, w: 1, ew: 1, elem: 8, enc: both},
	VPERMD:        {name: "vpermd", pp: 1, mm: 2, opc: 0x36, elem: 4, enc: both},
	VSHUFPS:       {name: "vshufps", mm: 1, opc: 0xc6, elem: 4, enc: both},
	VPSHUFD:       {name: "vpshufd", pp: 1, mm: 1, opc: 0x70, elem: 4, enc: both},
	VPSHUFB:       {name: "vpshufb", pp: 1, mm: 2, opc: 0x00, enc: vexOK},
	VSHUFF32X4:    {name: "vshuff32x4", pp: 1, mm: 3, opc: 0x23, elem: 4, enc: evexOK},
	VUNPCKLPS:     {name: "vunpcklps", mm: 1, opc: 0x14, elem: 4, enc: both},
	VUNPCKHPS:     {name: "vunpckhps", mm: 1, opc: 0x15, elem: 4, enc: both},
	VUNPCKHPD:     {name: "vunpckhpd", pp: 1, mm: 1, opc: 0x15, ew: 1, elem: 8, enc: both},
	VMOVHLPS:      {name: "vmovhlps", mm: 1, opc: 0x12, enc: both, lig: true},
	VMOVSHDUP:     {name: "vmovshdup", pp: 2, mm: 1, opc: 0x16, enc: both},
	VPERM2F128:    {name: "vperm2f128", pp: 1, mm: 3, opc: 0x06, enc: vexOK},
	VPACKUSDW:     {name: "vpackusdw", pp: 1, mm: 2, opc: 0x2b, enc: vexOK},
	VPACKUSWB:     {name: "vpackuswb", pp: 1, mm: 1, opc: 0x67, enc: vexOK},
	VPACKSSDW:     {name: "vpackssdw", pp: 1, mm: 1, opc: 0x6b, enc: vexOK},

	VMOVUPS:      {name: "vmovups", mm: 1, opc: 0x10, enc: both},
	VMOVUPSST:    {name: "vmovups", mm: 1, opc: 0x11, enc: both},
	VMOVDQU64:    {name: "vmovdqu", ename: "vmovdqu64", pp: 2, mm: 1, opc: 0x6f, ew: 1, enc: both},
	VMOVDQU64ST:  {name: "vmovdqu", ename: "vmovdqu64", pp: 2, mm: 1, opc: 0x7f, ew: 1, enc: both},
	VMOVDQU16:    {name: "vmovdqu16", pp: 3, mm: 1, opc: 0x6f, ew: 1, enc: evexOK},
	VMOVDQU16ST:  {name: "vmovdqu16", pp: 3, mm: 1, opc: 0x7f, ew: 1, enc: evexOK},
	VMOVDQU8:     {name: "vmovdqu8", pp: 3, mm: 1, opc: 0x6f, enc: evexOK},
	VMOVDQU8ST:   {name: "vmovdqu8", pp: 3, mm: 1, opc: 0x7f, enc: evexOK},
	VMOVNTPS:     {name: "vmovntps", mm: 1, opc: 0x2b, enc: both},
	VMASKMOVPS:   {name: "vmaskmovps", pp: 1, mm: 2, opc: 0x2c, enc: vexOK},
	VMASKMOVPSST: {name: "vmaskmovps", pp: 1, mm: 2, opc: 0x2e, enc: vexOK},
	VPMASKMOVQ:   {name: "vpmaskmovq", pp: 1, mm: 2, opc: 0x8c, w: 1, enc: vexOK},
	VPMASKMOVQST: {name: "vpmaskmovq", pp: 1, mm: 2, opc: 0x8e, w: 1, enc: vexOK},

	VMOVSS:     {name: "vmovss", pp: 2, mm: 1, opc: 0x10, elem: 4, enc: both, scalar: true, lig: true},
	VMOVSSST:   {name: "vmovss", pp: 2, mm: 1, opc: 0x11, elem: 4, enc: both, scalar: true, lig: true},
	VMOVSD:     {name: "vmovsd", pp: 3, mm: 1, opc: 0x10, ew: 1, elem: 8, enc: both, scalar: true, lig: true},
	VMOVSDST:   {name: "vmovsd", pp: 3, mm: 1, opc: 0x11, ew: 1, elem: 8, enc: both, scalar: true, lig: true},
	VMOVD:      {name: "vmovd", pp: 1, mm: 1, opc: 0x6e, elem: 4, enc: both, scalar: true, lig: true},
	VMOVDST:    {name: "vmovd", pp: 1, mm: 1, opc: 0x7e, elem: 4, enc: both, scalar: true, lig: true},
	VMOVQ:      {name: "vmovq", pp: 1, mm: 1, opc: 0x6e, w: 1, ew: 1, elem: 8, enc: both, scalar: true, lig: true},
	VMOVQST:    {name: "vmovq", pp: 1, mm: 1, opc: 0x7e, w: 1, ew: 1, elem: 8, enc: both, scalar: true, lig: true},
	VPEXTRB:    {name: "vpextrb", pp: 1, mm: 3, opc: 0x14, elem: 1, enc: both, scalar: true, lig: true},
	VPEXTRW:    {name: "vpextrw", pp: 1, mm: 3, opc: 0x15, elem: 2, enc: both, scalar: true, lig: true},
	VPINSRB:    {name: "vpinsrb", pp: 1, mm: 3, opc: 0x20, elem: 1, enc: both, scalar: true, lig: true},
	VPINSRW:    {name: "vpinsrw", pp: 1, mm: 1, opc: 0xc4, elem: 2, enc: both, scalar: true, lig: true},
	VCVTSI2SS:  {name: "vcvtsi2ss", pp: 2, mm: 1, opc: 0x2a, w: 1, enc: vexOK, lig: true},
	VCVTSI2SD:  {name: "vcvtsi2sd", pp: 3, mm: 1, opc: 0x2a, w: 1, enc: vexOK, lig: true},
	VCVTTSD2SI: {name: "vcvttsd2si", pp: 3, mm: 1, opc: 0x2c, w: 1, enc: vexOK, lig: true},
	VMOVMSKPS:  {name: "vmovmskps", mm: 1, opc: 0x50, enc: vexOK},
	VMOVMSKPD:  {name: "vmovmskpd", pp: 1, mm: 1, opc: 0x50, enc: vexOK},
}
