"""What coordinator and sites say to each other, one file a phase: question, answer, and how each part of it leaves."""
