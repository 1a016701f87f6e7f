//go:build !nocuda

package main

// GPUs of NVIDIA. The driver's library is opened when a device is; to be able to do so,
// the command is linked with the system's C library. With the tag nocuda it is static.
import _ "github.com/sinter-go/sinter/cuda"
