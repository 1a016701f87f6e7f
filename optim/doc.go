// Package optim changes parameters so that a loss falls: optimizers, learning-rate
// schedules, and what a training step needs around them, such as clipping
// ([ClipByNorm]), averages ([EMA]), sums over small batches ([Accumulator]) and loss
// scaling ([Scaler]).
//
// Invariants between packages: a step is made of tensor operations alone, so it
// runs on the device of the parameters, waits for nothing and can be fused; what
// changes from step to step (learning rate, bias corrections) enters as numbers
// that are fed ([sinter.Fed]), not as structure, so that every step has the same plan
// and a captured one ([sinter.Capture]) asks for them again. Other settings that are
// changed meanwhile hold from the next step that is recorded. Numbers that are worked
// out on the host use operations that round alike on every processor.
// The state of an optimizer is a list of named variables and a step count: saved
// and restored, training goes on with the same bits.
package optim
