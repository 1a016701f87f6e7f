package cpu

import (
	"context"

	"github.com/sinter-go/sinter/backend"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/kernel"
	"github.com/sinter-go/sinter/kernel/amd64"
)

// CodeID names what generates code here, "" if the device interprets. Saved code
// is good on devices of the same id. See [backend.CodeKeeper].
func (d *Device) CodeID() string {
	level, ok := levels[d.opt.Generator]
	if !ok {
		return ""
	}
	return amd64.BuildID(level)
}

// SaveCode returns the machine code of a kernel of this device, nil if it is
// interpreted or was released.
func (d *Device) SaveCode(ctx context.Context, k backend.Compiled) ([]byte, error) {
	c, ok := k.(*compiledKernel)
	if !ok || c.d != d {
		return nil, ir.Errorf(ir.ErrDevice, "the kernel is another device's")
	}
	var code *amd64.Code
	if err := d.inOrder(ctx, func() { code, _ = c.exe.(*amd64.Code) }); err != nil || code == nil {
		return nil, err
	}
	return code.Save(nil), nil
}

// LoadCode makes a kernel of its saved code, which is executed as it is.
func (d *Device) LoadCode(k *kernel.Kernel, data []byte) (backend.Compiled, error) {
	level, ok := levels[d.opt.Generator]
	switch {
	case d.q.isClosed():
		return nil, errClosed
	case k == nil || !ok:
		return nil, ir.Errorf(ir.ErrUnsupported, "the device takes no code")
	}
	code, err := amd64.Load(k, level, data)
	if err != nil {
		return nil, err
	}
	return &compiledKernel{d: d, k: k, exe: code, generated: true, fault: k.HasFault()}, nil
}
