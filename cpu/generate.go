package cpu

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
)

func bestGenerator() Generator { return Interpret }

func hasGenerator(Generator) bool { return false }

func generate(g Generator, k *kernel.Kernel) (kernel.Executable, error) {
	return nil, ir.Errorf(ir.ErrUnsupported, "generator %s", g)
}
