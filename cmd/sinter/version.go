package main

import (
	"runtime"
	"runtime/debug"
)

type versionCmd struct{ output }

// version is what the command prints.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

func (c *versionCmd) Run(e *env) error {
	v := version{Version: "(devel)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			v.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Revision = s.Value
			}
		}
	}
	if c.JSON {
		e.stdout.object(v)
		return nil
	}
	e.stdout.printf("sinter %s", v.Version)
	if v.Revision != "" {
		e.stdout.printf(" (%.12s)", v.Revision)
	}
	e.stdout.printf(", %s, %s/%s\n", v.Go, v.OS, v.Arch)
	return nil
}
