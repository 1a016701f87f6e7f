package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter"
	"github.com/sinter-go/sinter/backend"
)

type devicesCmd struct{ output }

// Help is the long help of the command.
func (*devicesCmd) Help() string {
	return `A driver without devices is listed with the reason. Give an id to --device of the other
commands, or to sinter.OpenDevice.`
}

// deviceInfo is a device, or a driver without one, as --json prints it.
type deviceInfo struct {
	ID      string            `json:"id"`
	Driver  string            `json:"driver"`
	Error   string            `json:"error,omitempty"`
	Kind    string            `json:"kind,omitempty"`
	Detail  string            `json:"detail,omitempty"`
	DTypes  []string          `json:"dtypes,omitempty"`
	Threads int               `json:"threads,omitempty"`
	Memory  int64             `json:"memory_bytes,omitempty"`
	Limits  map[string]int64  `json:"limits,omitempty"`
	Extra   map[string]string `json:"extra,omitempty"`
}

func (c *devicesCmd) Run(e *env) error {
	for _, d := range listDevices(&sinter.Default().Drivers) {
		if c.JSON {
			e.stdout.object(d)
		} else {
			d.print(e.stdout)
		}
	}
	return nil
}

// listDevices opens every device of every driver and describes it.
func listDevices(drivers *backend.Registry) []deviceInfo {
	var out []deviceInfo
	for _, name := range drivers.Names() {
		n, err := drivers.Driver(name).Count()
		if n == 0 {
			reason := "the driver found no device"
			if err != nil {
				reason = err.Error()
			}
			out = append(out, deviceInfo{ID: name, Driver: name, Error: reason})
		}
		for i := range n {
			id := name
			if i > 0 {
				id = fmt.Sprintf("%s:%d", name, i)
			}
			b, err := drivers.Open(id)
			if err != nil {
				out = append(out, deviceInfo{ID: id, Driver: name, Error: err.Error()})
				continue
			}
			out = append(out, describeDevice(name, b.Info()))
		}
	}
	return out
}

// figuresOf tells what a device on the bus does right now; nil in a build without GPUs.
var figuresOf func(bus string) map[string]string

func describeDevice(driver string, i backend.Info) deviceInfo {
	if bus := i.Extra["bus"]; bus != "" && figuresOf != nil {
		i.Extra = maps.Clone(i.Extra)
		maps.Copy(i.Extra, figuresOf(bus))
	}
	d := deviceInfo{ID: i.ID, Driver: driver, Kind: i.Kind, Detail: i.Detail, Threads: i.Threads,
		Memory: i.Memory, Limits: i.Limits, Extra: i.Extra}
	for _, t := range i.DTypes {
		d.DTypes = append(d.DTypes, t.String())
	}
	return d
}

func (d deviceInfo) print(c *console) {
	if d.Error != "" {
		c.printf("%s  %s\n", c.paint(bold, fmt.Sprintf("%-8s", d.ID)), c.paint(faint, "none: "+d.Error))
		return
	}
	c.printf("%s  %s\n", c.paint(bold, fmt.Sprintf("%-8s", d.ID)), d.Detail)
	line := func(name, value string) {
		c.printf("          %s  %s\n", c.paint(faint, fmt.Sprintf("%-11s", name)), value)
	}
	line("kind", d.Kind)
	if d.Threads > 0 {
		line("threads", strconv.Itoa(d.Threads))
	}
	if d.Memory > 0 {
		line("memory", bytesText(d.Memory))
	}
	line("dtypes", strings.Join(d.DTypes, " "))
	for _, k := range slices.Sorted(maps.Keys(d.Limits)) {
		v := strconv.FormatInt(d.Limits[k], 10)
		if strings.Contains(k, "bytes") {
			v = bytesText(d.Limits[k])
		}
		line(strings.ReplaceAll(k, "_", " "), v)
	}
	for _, k := range slices.Sorted(maps.Keys(d.Extra)) {
		line(strings.ReplaceAll(k, "_", " "), d.Extra[k])
	}
}

// bytesText writes a number of bytes for people: 71.3 KB, in powers of 1024.
func bytesText(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, u := float64(n)/1024, 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	s := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0") + " " + units[u:u+1] + "B"
}
