package nvml

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"unsafe"
)

// TestOpenWithoutLibrary pins the message that users of machines without the
// library see; on a machine with one it reads figures.
func TestOpenWithoutLibrary(t *testing.T) {
	l, err := Open()
	if err != nil {
		var u *Unavailable
		var e *Error
		switch {
		case errors.As(err, &u):
			if !strings.HasPrefix(err.Error(), "no NVIDIA management library: ") || u.Reason == "" || u.Library != library {
				t.Fatalf("message %q", err)
			}
			if strings.Count(err.Error(), library) != 1 && library != "" {
				t.Fatalf("message %q", err)
			}
			t.Logf("%v", err)
		case errors.As(err, &e): // a library without a driver
			t.Skipf("library present but not usable: %v", err)
		default:
			t.Fatalf("error of type %T: %v", err, err)
		}
		if _, again := Open(); again != err {
			t.Fatalf("then %v", again)
		}
		return
	}
	f, err := l.Figures("0")
	if err != nil {
		t.Skipf("no GPU: %v", err)
	}
	t.Logf("%v", f.Facts())
	if f.DriverVersion == "" || f.MemoryUsed > f.MemoryTotal || f.UtilizationPercent > 100 {
		t.Fatalf("figures %+v", f)
	}
	var e *Error
	if _, err := l.Figures("ffff:ff:1f.7"); !errors.As(err, &e) || e.Text == "" {
		t.Fatalf("a GPU that is not there: %v", err)
	}
}

func TestErrorText(t *testing.T) {
	e := &Error{Call: "nvmlInit_v2", Code: 9, Text: "Driver Not Loaded"}
	if got, want := e.Error(), "nvmlInit_v2: Driver Not Loaded (9)"; got != want {
		t.Fatalf("have %q, want %q", got, want)
	}
	u := &Unavailable{Library: "libnvidia-ml.so.1", Reason: "no such file"}
	if got, want := u.Error(), "no NVIDIA management library: libnvidia-ml.so.1 could not be opened: no such file"; got != want {
		t.Fatalf("have %q, want %q", got, want)
	}
	u = &Unavailable{Reason: "there is none for js/wasm"}
	if got, want := u.Error(), "no NVIDIA management library: there is none for js/wasm"; got != want {
		t.Fatalf("have %q, want %q", got, want)
	}
}

// TestFind: what a figure needs may be missing, the rest may not.
func TestFind(t *testing.T) {
	none := errors.New("undefined symbol")
	without := func(what string) (functions, error) {
		var f functions
		err := f.find(func(name string) (uintptr, error) {
			if strings.HasPrefix(name, what) {
				return 0, none
			}
			return 1, nil
		})
		return f, err
	}
	f, err := without("nvmlDeviceGetTemperature")
	if err != nil || f.temperature != 0 || f.powerUsage != 1 || f.init != 1 {
		t.Fatalf("%v, %+v", err, f)
	}
	var u *Unavailable
	if _, err := without("nvmlInit"); !errors.As(err, &u) || !strings.Contains(err.Error(), "it lacks nvmlInit_v2: undefined symbol") {
		t.Fatalf("%v", err)
	}
}

// TestLayout: the structs are those of nvml.h.
func TestLayout(t *testing.T) {
	var m memory
	if unsafe.Sizeof(m) != 24 || unsafe.Offsetof(m.free) != 8 || unsafe.Offsetof(m.used) != 16 {
		t.Error("nvmlMemory_t")
	}
	var u utilization
	if unsafe.Sizeof(u) != 8 || unsafe.Offsetof(u.memory) != 4 {
		t.Error("nvmlUtilization_t")
	}
}

func TestFacts(t *testing.T) {
	all := Figures{
		Temperature: 31, PowerWatts: 74.61, PowerLimitWatts: 700, ClockMHz: 345, MaxClockMHz: 1980,
		MemoryClockMHz: 3201, UtilizationPercent: 7, MemoryUsed: 529 << 20, MemoryTotal: 143771 << 20,
		DriverVersion: "580.159",
	}
	for _, c := range []struct {
		f    Figures
		want map[string]string
	}{
		{Figures{}, map[string]string{}},
		{all, map[string]string{
			"temperature": "31 C", "power": "75 of 700 W", "clock": "345 of 1980 MHz",
			"memory clock": "3201 MHz", "utilization": "7 %", "memory used": "529 of 143771 MiB",
			"nvidia driver": "580.159",
		}},
		{Figures{PowerWatts: 75, ClockMHz: 1980}, map[string]string{"power": "75 W", "clock": "1980 MHz"}},
		{Figures{PowerLimitWatts: 700, MaxClockMHz: 1980}, map[string]string{"power": "at most 700 W", "clock": "at most 1980 MHz"}},
		{Figures{MemoryTotal: 80 << 30}, map[string]string{"memory used": "0 of 81920 MiB"}},
		{Figures{DriverVersion: "580.159"}, map[string]string{"nvidia driver": "580.159"}},
	} {
		if got := c.f.Facts(); !maps.Equal(got, c.want) {
			t.Errorf("%+v: have %v, want %v", c.f, got, c.want)
		}
	}
}
