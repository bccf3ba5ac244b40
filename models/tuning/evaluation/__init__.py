"""How well a tuned reply model answers: what is asked, what is counted, and who reads."""
