package main

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter"
	_ "github.com/sinter-go/sinter/cuda"
)

func main() {
	dev, err := sinter.OpenDevice("cuda:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	x := sinter.NewGenerator(1).Normal(sinter.On(dev), sinter.F32, 1<<20)
	fmt.Println(sinter.Item[float32](context.Background(), x.Mul(2).Relu().Mean()))
}
