package debug

import "testing"

func TestParse(t *testing.T) {
	for in, want := range map[string]Switches{
		"": {}, "on": {}, "1": {}, "off": {Off: true}, "0": {Off: true}, "no": {Off: true},
		"oracle": {Oracle: true}, "bisect:v+01": {Bisect: "v+01"}, "bisect:": {Unknown: "bisect:"}, "of": {Unknown: "of"}, "Oracle": {Unknown: "Oracle"},
	} {
		if got := parse(in, ""); got != want {
			t.Errorf("SINTER_FUSION=%s: %+v, want %+v", in, got, want)
		}
	}
	if got := parse("oracle", "/tmp/x"); got.Capsules != "/tmp/x" || !got.Oracle {
		t.Errorf("%+v", got)
	}
}

func TestParseTune(t *testing.T) {
	for in, want := range map[string]Tuning{"": {}, "on": {}, "off": {Off: true}, "0": {Off: true}, "idle": {Idle: true}, "of": {Unknown: "of"}} {
		if got := parseTune(in); got != want {
			t.Errorf("SINTER_TUNE=%s: %+v, want %+v", in, got, want)
		}
	}
}

func TestParseProfiler(t *testing.T) {
	for nvtx, want := range map[string]string{"": "/lib/tool.so", "on": "/lib/tool.so", "off": "", "0": ""} {
		if got := parseProfiler(nvtx, "/lib/tool.so"); got != want {
			t.Errorf("SINTER_NVTX=%s: %q, want %q", nvtx, got, want)
		}
	}
}
