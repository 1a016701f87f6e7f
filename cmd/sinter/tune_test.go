package main

import (
	"strings"
	"testing"
)

func TestTuneCommand(t *testing.T) {
	for args, want := range map[string]string{
		"tune --rounds 0":                  `--rounds is 0`,
		"tune --threads 0,1":               `--threads is 0`,
		"tune --products 3x4":              `expected MxNxK`,
		"tune --products 3x4x0":            `positive numbers`,
		"tune --dry-run --choices nothing": `choice "nothing", expected some of: streaming stores from`,
	} {
		invoke(t, "", strings.Fields(args)...).want(t, args, exitUsage, "", want)
	}
	invoke(t, "", "tune", "--list").want(t, "tune --list", exitOK, "blocks of products", "")
	r := invoke(t, "", "tune", "--dry-run", "--threads", "2", "--rounds", "1", "--choices", "serial below,blocks of products", "--products", "64x200x128", "--json")
	if o := r.objects(t); r.code != exitOK || len(o) == 0 || o[0]["choice"] != "serial below" {
		t.Errorf("%s%s", r.stdout, r.stderr)
	}
	invoke(t, "", "tune", "--dry-run", "--threads", "2", "--rounds", "1", "--choices", "serial below").want(t, "tune", exitOK, "1.00", "")
}
