package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/onnx"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: model FILE")
	}
	model, err := onnx.Load(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	prog, err := model.Compile() // the error lists all that is not supported
	if err != nil {
		log.Fatal(err)
	}
	x := sinter.FromSlice([]float32{1, 2, 3, 0, -1, 0.5}, 2, 3) // any batch size, any device
	out, err := prog.Run(context.Background(), map[string]*sinter.Tensor{"x": x})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out["y"])
}
