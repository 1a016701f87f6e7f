package asm

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		want string
		emit func(a *Asm)
	}{
		{"c5f458c2", func(a *Asm) { a.RVM(VADDPS, L256, 0, 1, V(2)) }},
		{"62f174c958c2", func(a *Asm) { a.Masked(1, true).RVM(VADDPS, L512, 0, 1, V(2)) }},
		{"c4c17c1004c8", func(a *Asm) { a.RM(VMOVUPS, L256, 0, M(Idx(R8, CX, 8, 0))) }},
		{"c5f877", func(a *Asm) { a.VZeroUpper() }},
		{"c5f898f3", func(a *Asm) { a.KOrTest(6, 3) }},
		{"f34c0fbcf8", func(a *Asm) { a.Tzcnt(R15, AX) }},
		{"f3490fbcc0", func(a *Asm) { a.Tzcnt(AX, R8) }},
		{"0fa2", func(a *Asm) { a.CPUID() }},
		{"0f184640", func(a *Asm) { a.PrefetchNTA(Ptr(SI, 64)) }},
		{"430f180408", func(a *Asm) { a.PrefetchNTA(Idx(R8, R9, 1, 0)) }},
		{"c3", func(a *Asm) { a.Ret() }},
		{"4889c3", func(a *Asm) { a.Mov(BX, AX) }},
		{"c4e2f0f5c0", func(a *Asm) { a.Bzhi(AX, AX, CX) }},
		{"e900000000c3", func(a *Asm) { l := a.NewLabel(); a.Jmp(l); a.Bind(l); a.Ret() }},
	} {
		a := New()
		c.emit(a)
		if got := hex.EncodeToString(a.Finish()); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestPool(t *testing.T) {
	a := New()
	a.RM(VBROADCASTSS, L256, 3, M(a.Const32(0x3f800000)))
	a.RM(VBROADCASTSS, L256, 4, M(a.Const32(0x3f800000)))
	a.Ret()
	code := a.Finish()
	// Two 9-byte loads and a return make 19 bytes; the word lies at 20.
	if len(code) != 24 || !bytes.Equal(code[20:], []byte{0, 0, 0x80, 0x3f}) {
		t.Fatalf("code % x", code)
	}
	if code[5] != 11 || code[14] != 2 {
		t.Fatalf("displacements % x", code)
	}
}

var gprName = []string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}

type gen struct {
	*rand.Rand
	a *Asm
}

func (g *gen) mem() (Mem, string) {
	m := Mem{Base: Reg(g.Intn(16)), Index: NoReg}
	s := gprName[m.Base]
	if g.Intn(2) == 0 {
		m.Index = Reg(g.Intn(16))
		for m.Index == SP {
			m.Index = Reg(g.Intn(16))
		}
		m.Scale = 1 << g.Intn(4)
		s += fmt.Sprintf("+%s*%d", gprName[m.Index], m.Scale)
	}
	switch g.Intn(4) {
	case 1:
		m.Disp = int32(g.Intn(256) - 128)
	case 2:
		m.Disp = int32(g.Intn(256)-128) * 64
	case 3:
		m.Disp = int32(g.Uint32()) >> 4
	}
	if m.Disp > 0 {
		s += fmt.Sprintf("+0x%x", m.Disp)
	} else if m.Disp < 0 {
		s += fmt.Sprintf("-0x%x", -int64(m.Disp))
	} else if m.Base&7 == BP {
		s += "+0x0"
	}
	return m, "[" + s + "]"
}

func vname(l Len, v uint8) string { return fmt.Sprintf("%cmm%d", "xyz"[l], v) }

// one emits one random vector instruction and returns what objdump must say.
func (g *gen) one(op Op) string {
	r := &table[op]
	a := g.a
	l := Len(g.Intn(3))
	if r.enc == vexOK {
		l = Len(g.Intn(2))
	}
	if r.lig {
		l = L128
	}
	limit := 32
	if r.enc == vexOK {
		limit = 16
	}
	reg := func() Vec {
		n := limit
		if g.Intn(2) == 0 {
			n = 16
		}
		return Vec(g.Intn(n))
	}
	evexOnly := r.enc == evexOK
	mn := func(evex bool) string {
		if evex && r.ename != "" {
			return r.ename
		}
		return r.name
	}
	k, z, suffix := Mask(0), false, ""
	if r.enc&evexOK != 0 && !r.lig && g.Intn(2) == 0 && r.digit == 0 {
		k = Mask(1 + g.Intn(7))
		suffix = fmt.Sprintf("{k%d}", k)
		if g.Intn(2) == 0 {
			z, suffix = true, suffix+"{z}"
		}
	}
	any := func(full Len) (Arg, string) {
		if g.Intn(2) == 0 {
			v := reg()
			return V(v), vname(full, uint8(v))
		}
		m, s := g.mem()
		if r.enc&evexOK != 0 && r.elem != 0 && !r.scalar && g.Intn(3) == 0 {
			return MB(m), s + fmt.Sprintf("{1to%d}", (l.Bytes()>>r.frac)/int(r.elem))
		}
		return M(m), s
	}
	wide := func(x Arg, regs ...Vec) bool {
		w := evexOnly || l == L512 || k != 0 || x.bcast || !x.isMem && x.reg > 15
		for _, v := range regs {
			w = w || v > 15
		}
		return w
	}
	narrow := l
	switch {
	case r.frac == 1 && l > 0:
		narrow = l - 1
	case r.frac == 2 && l > 1, r.frac == 3:
		narrow = 0
	case r.frac == 2:
		narrow = 0
	}
	d, x := reg(), reg()
	imm := uint8(g.Intn(8))
	switch op {
	case VPMOVM2D, VPMOVM2Q:
		k := Mask(g.Intn(8))
		a.RK(op, l, d, k)
		return fmt.Sprintf("%s %s,k%d", r.name, vname(l, uint8(d)), k)
	case VPMOVD2M, VPMOVQ2M:
		k := Mask(g.Intn(8))
		a.KR(op, l, k, x)
		return fmt.Sprintf("%s k%d,%s", r.name, k, vname(l, uint8(x)))
	case VPBROADCASTDR, VPBROADCASTQR:
		s := Reg(8 + g.Intn(8))
		a.vec(op, l, uint8(d), 0, G(s), -1)
		if op == VPBROADCASTDR {
			return fmt.Sprintf("%s %s,%sd", r.name, vname(l, uint8(d)), gprName[s])
		}
		return fmt.Sprintf("%s %s,%s", r.name, vname(l, uint8(d)), gprName[s])
	case VMOVMSKPS, VMOVMSKPD:
		s := Reg(8 + g.Intn(8))
		a.GM(op, l, s, x)
		return fmt.Sprintf("%s %sd,%s", r.name, gprName[s], vname(l, uint8(x)))
	case VCVTSI2SS, VCVTSI2SD:
		s := Reg(g.Intn(16))
		a.RVM(op, l, d, x, G(s))
		return fmt.Sprintf("%s xmm%d,xmm%d,%s", r.name, d, x, gprName[s])
	case VCVTTSD2SI:
		s := Reg(g.Intn(16))
		a.GM(op, l, s, x)
		return fmt.Sprintf("%s %s,xmm%d", r.name, gprName[s], x)
	case VCMPPSK, VCMPPDK, VPCMPDK, VPCMPUDK, VPCMPQK, VPCMPUQK:
		y, ys := any(l)
		kd := Mask(g.Intn(8))
		if k != 0 {
			suffix = fmt.Sprintf("{k%d}", k)
		}
		a.Masked(k, false).KVM(op, l, kd, x, y, int(imm))
		return fmt.Sprintf("%s k%d%s,%s,%s,%d", r.name, kd, suffix, vname(l, uint8(x)), ys, imm)
	case VPTESTMD, VPTESTMQ:
		y, ys := any(l)
		kd := Mask(g.Intn(8))
		a.KVM(op, l, kd, x, y, -1)
		return fmt.Sprintf("%s k%d,%s,%s", r.name, kd, vname(l, uint8(x)), ys)
	case VBLENDVPS, VBLENDVPD:
		y, ys := any(l)
		m := reg()
		a.RVMR(op, l, d, x, y, m)
		return fmt.Sprintf("%s %s,%s,%s,%s", r.name, vname(l, uint8(d)), vname(l, uint8(x)), ys, vname(l, uint8(m)))
	case VMASKMOVPS, VPMASKMOVQ:
		m, ms := g.mem()
		a.RVM(op, l, d, x, M(m))
		return fmt.Sprintf("%s %s,%s,%s", r.name, vname(l, uint8(d)), vname(l, uint8(x)), ms)
	case VMASKMOVPSST, VPMASKMOVQST:
		m, ms := g.mem()
		a.MVR(op, l, m, d, x)
		return fmt.Sprintf("%s %s,%s,%s", r.name, ms, vname(l, uint8(d)), vname(l, uint8(x)))
	case VPSLLD, VPSRLD, VPSRAD, VPSLLQ, VPSRLQ, VPSRAQ:
		a.VMI(op, l, d, x, imm)
		return fmt.Sprintf("%s %s,%s,0x%x", r.name, vname(l, uint8(d)), vname(l, uint8(x)), imm)
	case VMOVUPSST, VMOVDQU64ST, VMOVDQU16ST, VMOVDQU8ST, VMOVSSST, VMOVSDST, VMOVDST, VMOVQST, VMOVNTPS, VPEXTRB, VPEXTRW:
		m, ms := g.mem()
		if op == VMOVNTPS {
			k = 0
		}
		if k != 0 {
			ms += fmt.Sprintf("{k%d}", k)
		}
		a.Masked(k, false)
		if op == VPEXTRB || op == VPEXTRW {
			a.MRI(op, l, M(m), x, imm)
			return fmt.Sprintf("%s %s,%s,0x%x", mn(wide(M(m), x)), ms, vname(l, uint8(x)), imm)
		}
		a.MR(op, l, M(m), x)
		return fmt.Sprintf("%s %s,%s", mn(wide(M(m), x)), ms, vname(l, uint8(x)))
	case VPMOVDB, VPMOVDW, VPMOVQD, VPMOVQB:
		m, ms := g.mem()
		if k != 0 {
			ms += fmt.Sprintf("{k%d}", k)
		}
		a.Masked(k, false).MR(op, l, M(m), x)
		return fmt.Sprintf("%s %s,%s", r.name, ms, vname(l, uint8(x)))
	case VCVTPS2PH:
		a.Masked(k, z).MRI(op, l, V(d), x, imm)
		return fmt.Sprintf("%s %s%s,%s,0x%x", r.name, vname(narrow, uint8(d)), suffix, vname(l, uint8(x)), imm)
	case VEXTRACTF128, VEXTRACTF64X4:
		l = L512
		nl := L128
		if op == VEXTRACTF64X4 {
			nl = L256
		} else if k == 0 && d < 16 && x < 16 {
			l = L256
		}
		a.Masked(k, z).MRI(op, l, V(d), x, 1)
		return fmt.Sprintf("%s %s%s,%s,0x1", mn(wide(V(d), x)), vname(nl, uint8(d)), suffix, vname(l, uint8(x)))
	case VINSERTF128, VINSERTF64X4:
		l = L512
		nl := L128
		if op == VINSERTF64X4 {
			nl = L256
		}
		a.Masked(k, z).RVMI(op, l, d, x, V(x), 1)
		return fmt.Sprintf("%s %s%s,%s,%s,0x1", mn(true), vname(l, uint8(d)), suffix, vname(l, uint8(x)), vname(nl, uint8(x)))
	case VMOVSS, VMOVSD, VMOVD, VMOVQ, VBROADCASTSS, VPBROADCASTB, VPBROADCASTW, VBROADCASTSD:
		m, ms := g.mem()
		if op == VBROADCASTSD && l == L128 {
			l = L256
		}
		a.Masked(k, z).RM(op, l, d, M(m))
		return fmt.Sprintf("%s %s%s,%s", r.name, vname(l, uint8(d)), suffix, ms)
	case VPINSRB, VPINSRW:
		m, ms := g.mem()
		a.RVMI(op, l, d, x, M(m), imm)
		return fmt.Sprintf("%s %s,%s,%s,0x%x", r.name, vname(l, uint8(d)), vname(l, uint8(x)), ms, imm)
	case VMOVHLPS:
		a.RVM(op, l, d, x, V(d))
		return fmt.Sprintf("%s %s,%s,%s", r.name, vname(0, uint8(d)), vname(0, uint8(x)), vname(0, uint8(d)))
	case VROUNDPS, VROUNDPD, VPSHUFD, VPERMQ:
		if op == VPERMQ && l == L128 {
			l = L256
		}
		y, ys := any(l)
		a.Masked(k, z).RMI(op, l, d, y, imm)
		return fmt.Sprintf("%s %s%s,%s,0x%x", mn(wide(y, d)), vname(l, uint8(d)), suffix, ys, imm)
	case VMOVUPS, VMOVDQU64, VMOVDQU16, VMOVDQU8:
		m, ms := g.mem()
		a.Masked(k, z).RM(op, l, d, M(m))
		return fmt.Sprintf("%s %s%s,%s", mn(wide(M(m), d)), vname(l, uint8(d)), suffix, ms)
	case VSQRTPS, VSQRTPD, VPABSD, VPABSQ, VMOVSHDUP,
		VCVTDQ2PS, VCVTTPS2DQ, VCVTPS2PD, VCVTDQ2PD, VCVTUDQ2PS, VCVTUDQ2PD, VCVTTPS2UDQ,
		VCVTQQ2PD, VCVTUQQ2PD, VCVTTPS2QQ, VCVTTPD2QQ, VCVTTPS2UQQ, VCVTTPD2UQQ, VCVTPH2PS,
		VPMOVZXBD, VPMOVSXBD, VPMOVZXWD, VPMOVSXWD, VPMOVZXDQ, VPMOVSXDQ, VPMOVZXBQ, VPMOVSXBQ:
		y, ys := any(narrow)
		a.Masked(k, z).RM(op, l, d, y)
		return fmt.Sprintf("%s %s%s,%s", mn(wide(y, d)), vname(l, uint8(d)), suffix, ys)
	case VCVTPD2PS, VCVTTPD2DQ, VCVTTPD2UDQ, VCVTQQ2PS, VCVTUQQ2PS:
		// The memory forms carry a size suffix; registers are enough here.
		dl := L128
		if l == L512 {
			dl = L256
		}
		a.Masked(k, z).RM(op, l, d, V(x))
		return fmt.Sprintf("%s %s%s,%s", r.name, vname(dl, uint8(d)), suffix, vname(l, uint8(x)))
	case VCMPPS, VCMPPD, VRANGEPS, VRANGEPD, VSHUFPS, VSHUFF32X4, VPERM2F128, VPTERNLOGD:
		if op == VPERM2F128 {
			l = L256
		}
		if op == VSHUFF32X4 {
			l = L512
		}
		y, ys := any(l)
		a.Masked(k, z).RVMI(op, l, d, x, y, imm)
		f := "%s %s%s,%s,%s,0x%x"
		if op == VCMPPS || op == VCMPPD {
			f = "%s %s%s,%s,%s,%d"
		}
		return fmt.Sprintf(f, r.name, vname(l, uint8(d)), suffix, vname(l, uint8(x)), ys, imm)
	case VPBLENDMD, VPBLENDMQ:
		y, ys := any(l)
		kk := Mask(1 + g.Intn(7))
		a.BlendM(op, l, d, kk, x, y)
		return fmt.Sprintf("%s %s{k%d},%s,%s", r.name, vname(l, uint8(d)), kk, vname(l, uint8(x)), ys)
	}
	if op == VPERMD && l == L128 {
		l = L256
	}
	y, ys := any(l)
	a.Masked(k, z).RVM(op, l, d, x, y)
	return fmt.Sprintf("%s %s%s,%s,%s", mn(wide(y, d, x)), vname(l, uint8(d)), suffix, vname(l, uint8(x)), ys)
}

var (
	sizes   = regexp.MustCompile(`(BYTE|WORD|DWORD|QWORD|XMMWORD|YMMWORD|ZMMWORD) PTR `)
	spread  = regexp.MustCompile(`(WORD|DWORD|QWORD) BCST (\[[^]]*\])`)
	bcasts  = regexp.MustCompile(`\{1to(\d+)\}`)
	cmpName = regexp.MustCompile(`^v(p?)cmp(eq|lt|le|unord|neq|nlt|nle|ord)(_oq|_uq|_os|_us|_oqq)?(ps|pd|d|q|ud|uq) `)
)

// normal brings objdump's text into the form that the generator prints.
func normal(s string) string {
	s = sizes.ReplaceAllString(s, "")
	s = spread.ReplaceAllString(s, "$2{b}")
	s = bcasts.ReplaceAllString(s, "{b}")
	if m := cmpName.FindStringSubmatch(s); m != nil && (m[1] == "" || strings.Contains(s, " k")) {
		n := slices.Index([]string{"eq", "lt", "le", "unord", "neq", "nlt", "nle", "ord"}, m[2])
		s = "v" + m[1] + "cmp" + m[4] + s[len(m[0])-1:] + fmt.Sprintf(",%d", n)
	}
	if m := regexp.MustCompile(`^(vp?cmpu?(?:ps|pd|d|q) .*),0x(\d)$`).FindStringSubmatch(s); m != nil {
		s = m[1] + "," + m[2]
	}
	s = regexp.MustCompile(`\+(r\w+)\]`).ReplaceAllString(s, "+$1*1]")
	return s
}

func disassemble(t *testing.T, code []byte) []string {
	tool, err := exec.LookPath("objdump")
	if err != nil {
		t.Skip("no objdump here")
	}
	f := filepath.Join(t.TempDir(), "code")
	if err := os.WriteFile(f, code, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(tool, "-D", "-b", "binary", "-m", "i386:x86-64", "-M", "intel", "--no-show-raw-insn", "-w", f).Output()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range strings.Split(string(out), "\n") {
		if at, text, ok := strings.Cut(l, ":\t"); ok && strings.TrimSpace(at) != "" {
			lines = append(lines, strings.Join(strings.Fields(text), " "))
		}
	}
	return lines
}

func TestRandomAgainstObjdump(t *testing.T) {
	g := &gen{rand.New(rand.NewSource(1)), New()}
	var want []string
	for range 60 {
		for op := range numOps {
			want = append(want, g.one(op))
		}
	}
	got := disassemble(t, g.a.Finish())
	if len(got) != len(want) {
		t.Errorf("%d instructions, want %d", len(got), len(want))
	}
	bad := 0
	for i := range min(len(want), len(got)) {
		if normal(got[i]) != bcasts.ReplaceAllString(want[i], "{b}") {
			t.Errorf("%d: objdump %q, want %q", i, normal(got[i]), want[i])
			if bad++; bad > 20 {
				break
			}
		}
	}
}

func TestIntegerAgainstObjdump(t *testing.T) {
	g := &gen{rand.New(rand.NewSource(2)), New()}
	a := g.a
	var want []string
	say := func(f string, args ...any) { want = append(want, fmt.Sprintf(f, args...)) }
	for range 100 {
		d, s, u := Reg(g.Intn(16)), Reg(g.Intn(16)), Reg(g.Intn(16))
		m, ms := g.mem()
		a.Mov(d, s)
		say("mov %s,%s", gprName[d], gprName[s])
		a.Load(d, m)
		say("mov %s,%s", gprName[d], ms)
		a.Store(m, s)
		say("mov %s,%s", ms, gprName[s])
		a.Lea(d, m)
		say("lea %s,%s", gprName[d], ms)
		a.Alu(ADD, d, s)
		say("add %s,%s", gprName[d], gprName[s])
		a.AluMem(CMP, d, m)
		say("cmp %s,%s", gprName[d], ms)
		a.MemAlu(SUB, m, s)
		say("sub %s,%s", ms, gprName[s])
		a.MemAluImm(ADD, m, 5)
		say("add %s,0x5", ms)
		a.AluImm(AND, d, 0x7f)
		say("and %s,0x7f", gprName[d])
		if d != AX {
			a.AluImm(SUB, d, 0x12345)
			say("sub %s,0x12345", gprName[d])
		}
		a.ShiftImm(SHR, d, 5)
		say("shr %s,0x5", gprName[d])
		a.Imul(d, s)
		say("imul %s,%s", gprName[d], gprName[s])
		a.ImulMem(d, m)
		say("imul %s,%s", gprName[d], ms)
		a.ImulImm(d, s, 1000)
		say("imul %s,%s,0x3e8", gprName[d], gprName[s])
		a.Dec(d)
		say("dec %s", gprName[d])
		a.Neg(d)
		say("neg %s", gprName[d])
		a.Idiv(d)
		say("idiv %s", gprName[d])
		a.Div(d)
		say("div %s", gprName[d])
		a.LoadMXCSR(m)
		say("ldmxcsr %s", ms)
		a.StoreMXCSR(m)
		say("stmxcsr %s", ms)
		a.Sfence()
		say("sfence")
		a.Cqo()
		say("cqo")
		a.LoadInt32(d, m)
		say("movsxd %s,%s", gprName[d], ms)
		a.Test(d, s)
		say("test %s,%s", gprName[d], gprName[s])
		a.Cmov(Less, d, s)
		say("cmovl %s,%s", gprName[d], gprName[s])
		a.Push(d)
		say("push %s", gprName[d])
		a.Pop(d)
		say("pop %s", gprName[d])
		a.Bzhi(d, s, u)
		say("bzhi %s,%s,%s", gprName[d], gprName[s], gprName[u])
		a.MovImm(d, 0x123456789a)
		say("movabs %s,0x123456789a", gprName[d])
		a.MovImm(d, -2)
		say("mov %s,0xfffffffffffffffe", gprName[d])
		k, x, y := Mask(g.Intn(8)), Mask(g.Intn(8)), Mask(g.Intn(8))
		a.K(KANDN, k, x, y)
		say("kandnw k%d,k%d,k%d", k, x, y)
		a.KNot(k, x)
		say("knotw k%d,k%d", k, x)
		a.KMovK(k, x)
		say("kmovw k%d,k%d", k, x)
		r := Reg(8 + g.Intn(8))
		a.KMov(k, r)
		say("kmovw k%d,%sd", k, gprName[r])
		a.KGet(r, k)
		say("kmovw %sd,k%d", gprName[r], k)
		a.StoreByte(m, r)
		say("mov %s,%sb", ms, gprName[r])
		a.StoreWord(m, r)
		say("mov %s,%sw", ms, gprName[r])
		a.LoadByte(r, m)
		say("movzx %sd,%s", gprName[r], ms)
	}
	got := disassemble(t, a.Finish())
	for i := range min(len(want), len(got)) {
		if normal(got[i]) != want[i] {
			t.Fatalf("%d: objdump %q, want %q", i, normal(got[i]), want[i])
		}
	}
}
