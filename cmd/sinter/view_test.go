package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/train"
)

func TestReports(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"r.html", "r.PNG"} {
		r := invoke(t, "", "train", "-q", "--epochs", "2", "--hidden", "16", "--report", name)
		r.want(t, name, exitOK, "report in "+name, "")
	}
	b, err := os.ReadFile("r.html")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	for _, want := range []string{"<title>", " % right</title>", "64-16-10", "Which digit was taken for which", `aria-label="Loss`, ", not "} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in the page", want)
		}
	}
	if n := strings.Count(page, "<svg "); n != 4 || strings.Contains(page, "<script") || strings.Contains(page, "src=") {
		t.Errorf("%d figures, or something from elsewhere", n)
	}
	for part := range strings.SplitSeq(page, "<svg ") { // each is well-formed
		body, _, ok := strings.Cut("<svg "+part, "</svg>")
		if !ok {
			continue
		}
		d := xml.NewDecoder(strings.NewReader(body + "</svg>"))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
	}
	if b, err = os.ReadFile("r.PNG"); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil || img.Bounds().Dx() != 1704 {
		t.Fatal(err)
	}
	green := 0
	for x := range 600 { // cells of the matrix
		if r, g, _, _ := img.At(x, 900).RGBA(); g > r+0x2000 {
			green++
		}
	}
	if green < 20 {
		t.Errorf("%d green pixels", green)
	}
	invoke(t, "", "train", "--report", "r.txt").want(t, "txt", exitUsage, "", "expected a name that ends in .html or .png")
	invoke(t, "", "train", "--report", "no/r.png").want(t, "no directory", exitFailure, "", "--report no/r.png: cannot write there")
}

// TestUIWithoutTerminal checks that --ui falls back to lines.
func TestUIWithoutTerminal(t *testing.T) {
	t.Chdir(t.TempDir())
	r := invoke(t, "", "train", "--ui", "--epochs", "2", "--hidden", "8")
	r.want(t, "--ui", exitOK, "right of 359 digits", "epoch 2/2  loss ")
	if strings.Contains(r.stdout+r.stderr, "\x1b") {
		t.Error("control sequences in a file")
	}
}

func TestLiveState(t *testing.T) {
	plain := func(_, text string) string { return text }
	for _, size := range [][2]int{{110, 30}, {80, 24}, {60, 20}, {20, 8}} {
		s := &liveState{title: "64-128-10 network", paint: plain, width: size[0], height: size[1], began: time.Now().Add(-time.Second)}
		s.progress = train.Progress{Epoch: 4, Epochs: 5, Step: 80, Steps: 100}
		for i, loss := range []float64{2, 1, 0.5} {
			if text := s.String(); !strings.Contains(text, "q stops") {
				t.Errorf("%v, %d epochs:\n%s", size, i, text)
			}
			s.add(train.Report{Epoch: i + 1, Loss: loss, Test: train.Score{Right: 90 + i%2, N: 100}})
		}
		text := s.String()
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		for _, line := range lines {
			if n := len([]rune(line)); n > size[0] {
				t.Errorf("%v: %d columns: %q", size, n, line)
			}
		}
		if len(lines) > size[1]+6 || size[0] > 40 && !strings.Contains(text, "best 91.0 % at epoch 2") {
			t.Errorf("%v:\n%s", size, text)
		}
	}
}

func TestPlot(t *testing.T) {
	plain := func(_, text string) string { return text }
	got := strings.Join(plot{"loss", []float64{4, 0, 2}, false, blue}.lines(19, 2, plain), "\n")
	if lines := strings.Split(got, "\n"); len(lines) != 4 || lines[0] != "         loss      " || !strings.HasPrefix(lines[1], "       4│") || !strings.HasSuffix(lines[3], "3─") {
		t.Errorf("\n%s", got)
	}
	for _, p := range []plot{{}, {values: []float64{1}}, {values: []float64{1, 1}, share: true}} {
		if lines := p.lines(30, 3, plain); len(lines) != 5 {
			t.Errorf("%+v: %q", p, lines)
		}
	}
}

func TestLogs(t *testing.T) {
	t.Chdir(t.TempDir())
	invoke(t, "", "train", "-q", "--epochs", "2", "--hidden", "8", "--logs", "runs/a").want(t, "--logs", exitOK, "saved", "")
	b, err := os.ReadFile("runs/a/epochs.csv")
	if err != nil || strings.Count(string(b), "\n") != 3 {
		t.Errorf("%s, %v", b, err)
	}
	if events, _ := filepath.Glob("runs/a/events.out.tfevents.*"); len(events) != 1 {
		t.Errorf("event files: %v", events)
	}
	invoke(t, "", "train", "-q", "--logs", "digits.safetensors").want(t, "a file", exitFailure, "", "--logs: ")
}
