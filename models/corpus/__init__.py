"""Spoken exchanges written for this project: the same words, said in different ways, and what a
good listener answers to each. README.md is their datasheet."""
