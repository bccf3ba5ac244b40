"""The parts of a report: each takes what was read and says what it has to say."""
