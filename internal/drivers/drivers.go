// Package drivers has those drivers of devices that a program gets by importing their
// package, as with database/sql: what a new runtime opens devices with, beside those of
// every program. It is filled by init functions and not changed afterwards.
package drivers

import "github.com/sinter-go/sinter/backend"

// Imported are the drivers by name.
var Imported = map[string]backend.Driver{}
