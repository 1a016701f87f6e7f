//go:build unix || windows

package main

import (
	"strings"
	"testing"

	tea "charm.land/bubbletea/v2"

	"github.com/sinter-go/sinter/train"
)

func TestLiveModel(t *testing.T) {
	stops := 0
	s := &liveState{paint: func(_, text string) string { return text }, width: 80, height: 24}
	m := liveModel{s, func() { stops++ }}
	for _, msg := range []tea.Msg{
		tea.WindowSizeMsg{Width: 90, Height: 20}, train.Progress{Epoch: 1, Epochs: 2, Step: 3, Steps: 8},
		train.Report{Epoch: 1, Epochs: 2, Loss: 0.5}, tea.KeyPressMsg{Code: 'x', Text: "x"},
	} {
		if _, c := m.Update(msg); c != nil || stops != 0 {
			t.Errorf("%T ends the view", msg)
		}
	}
	if text := m.View().Content; s.width != 90 || !strings.Contains(text, "step 3/8") || !strings.Contains(text, "loss 0.5000") {
		t.Errorf("%s", text)
	}
	m.Update(tea.KeyPressMsg{Code: 'q', Text: "q"})
	m.Update(tea.KeyPressMsg{Code: 'c', Mod: tea.ModCtrl})
	if stops != 2 || !strings.Contains(m.View().Content, "stopping") {
		t.Errorf("%d stops:\n%s", stops, m.View().Content)
	}
	if _, c := m.Update(endMsg{}); c == nil || strings.Contains(m.View().Content, "stopping") {
		t.Error("the last frame")
	}
}
