package main

import (
	"fmt"
	"html/template"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/sinter-go/sinter/internal/figure"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/train"
	"github.com/sinter-go/sinter/train/metric"
)

// reportFormat returns the format of a report by its file's name.
func reportFormat(path string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".html", ".htm":
		return "html", nil
	case ".png":
		return "png", nil
	}
	return "", usage("--report %s: expected a name that ends in .html or .png", path)
}

// checkReport refuses a report that could not be written, before the training.
func (c *trainCmd) checkReport() error {
	if c.Report == "" {
		return nil
	}
	if _, err := reportFormat(c.Report); err != nil {
		return err
	}
	return writable("--report", c.Report)
}

// summary is what a report shows.
type summary struct {
	Title   string
	Facts   [][2]string
	history []train.Report
	matrix  *metric.Confusion
	digits  []figure.Picture
	wrong   int
}

const shownDigits = 30

// summarize gathers what a report shows: all digits that were taken for another,
// and right ones after them.
func summarize(t *training, s settings, p train.Predictions, took time.Duration) (*summary, error) {
	m := metric.NewConfusion(classes)
	if err := m.Add(p.Class, t.test.Labels); err != nil {
		return nil, err
	}
	r := &summary{Title: percent(m.Accuracy()) + " right", history: t.loop.History(), matrix: m}
	macro := m.Macro()
	r.Facts = [][2]string{
		{"network", t.net.shape()}, {"parameters", strconv.Itoa(nn.Count(t.net))},
		{"digits", fmt.Sprintf("%d + %d", t.loop.Train.N, t.test.N)},
		{"epochs", fmt.Sprintf("%d × %d steps", len(r.history), t.loop.Steps())},
		{"batch", strconv.Itoa(s.Batch)}, {"learning rate", fmt.Sprint(s.LR)}, {"seed", fmt.Sprint(s.Seed)},
		{"macro F1", fmt.Sprintf("%.4f", macro.F1)}, {"device", t.dev.Info().ID}, {"time", fmt.Sprintf("%.1f s", took.Seconds())},
	}
	for _, right := range []bool{false, true} {
		for i, label := range t.test.Labels {
			if (p.Class[i] == label) != right {
				continue
			}
			picture := figure.Picture{Width: side, Values: t.test.Row(i), Caption: fmt.Sprintf("%d  %s", label, percent(float64(p.Probability[i])))}
			if !right {
				r.wrong++
				picture.Wrong, picture.Caption = true, fmt.Sprintf("%d, not %d", label, p.Class[i])
			}
			if len(r.digits) < shownDigits {
				r.digits = append(r.digits, picture)
			}
		}
	}
	return r, nil
}

// figures are the parts of a report with the sizes they are drawn for.
func (r *summary) curves() []figure.Curve {
	loss := figure.Curve{Title: "Loss on the digits learned, by epoch", Color: figure.Blue}
	right := figure.Curve{Title: "Right of the digits not seen, by epoch", Percent: true, Color: figure.Green}
	for _, h := range r.history {
		loss.Values = append(loss.Values, h.Loss)
		right.Values = append(right.Values, h.Test.Accuracy())
	}
	return []figure.Curve{loss, right}
}

func (r *summary) confusion() figure.Matrix {
	return figure.Matrix{Title: "Which digit was taken for which", Classes: classes, Counts: r.matrix.Counts}
}

func (r *summary) gallery() figure.Gallery {
	title := "Digits that it had not seen"
	if r.wrong > 0 {
		title += fmt.Sprintf(", the %d it took for others first", r.wrong)
	}
	return figure.Gallery{Title: title, Pictures: r.digits}
}

// write writes the report to a file.
func (r *summary) write(path string) error {
	format, err := reportFormat(path)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if format == "png" {
		err = r.png(f)
	} else {
		err = r.html(f)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("--report: %w", err)
	}
	return nil
}

func (r *summary) png(w io.Writer) error {
	const margin, wide, chart, lower, head = 32, 520, 260, 560, 112
	canvas, err := figure.NewRaster(2*wide+3*margin, head+chart+lower+3*margin, 1.5)
	if err != nil {
		return err
	}
	canvas.Text(margin, 48, 26, figure.Left, r.Title, figure.Ink)
	for i, f := range r.Facts {
		x, y := float64(margin+i%5*210), float64(74+i/5*20)
		canvas.Text(x, y, 12, figure.Left, f[0], figure.Faint)
		canvas.Text(x+88, y, 12, figure.Left, f[1], figure.Ink)
	}
	const right = 2*margin + wide
	for i, c := range r.curves() {
		c.Draw(canvas, figure.Box{X: float64(margin + i*(wide+margin)), Y: head + margin, W: wide, H: chart})
	}
	r.confusion().Draw(canvas, figure.Box{X: margin, Y: head + chart + 2*margin, W: wide, H: lower})
	r.gallery().Draw(canvas, figure.Box{X: right, Y: head + chart + 2*margin, W: wide, H: lower})
	return png.Encode(w, canvas.Image)
}

// drawer is a figure.
type drawer interface {
	Draw(to figure.Canvas, b figure.Box)
}

func svg(label string, width, height int, d drawer) template.HTML {
	s := &figure.SVG{Width: width, Height: height, Label: label}
	d.Draw(s, figure.Box{W: float64(width), H: float64(height)})
	return template.HTML(s.String()) // texts in it are escaped
}

func (r *summary) html(w io.Writer) error {
	figures := []template.HTML{}
	for _, c := range r.curves() {
		figures = append(figures, svg(c.Title, 520, 260, c))
	}
	m, g := r.confusion(), r.gallery()
	rows := (len(r.digits) + 4) / 5
	figures = append(figures, svg(m.Title, 520, 540, m), svg(g.Title, 520, 40+rows*126, g))
	return reportPage.Execute(w, struct {
		*summary
		Figures []template.HTML
	}{r, figures})
}

var reportPage = template.Must(template.New("report").Parse(`<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{{.Title}}</title>
<style>
body { margin: 2rem auto; max-width: 1120px; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; color: #222a35; background: #fff }
h1 { font-size: 1.7rem; margin: 0 0 1rem }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(200px, 1fr)); gap: .5rem 1.5rem; margin: 0 0 2rem }
dt { color: #6b7685; font-size: .8rem } dd { margin: 0 }
main { display: flex; flex-wrap: wrap; gap: 2rem; align-items: flex-start }
svg { max-width: 100%; height: auto }
</style>
<h1>{{.Title}}</h1>
<dl>{{range .Facts}}<div><dt>{{index . 0}}</dt><dd>{{index . 1}}</dd></div>{{end}}</dl>
<main>{{range .Figures}}
{{.}}{{end}}
</main>
</html>
`))
