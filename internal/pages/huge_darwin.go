package pages

// adviseHuge does nothing: the system chooses.
func adviseHuge([]byte) {}
