"""The file of results that a coordinator signs and hands out to hospitals after a run.

A SuperNode takes in no files: whatever the coordinator sent would be written to a hospital's disk while nobody looks.
So a person puts the file where it belongs, and the page of the report is made at the hospital, by its own software.
"""

KIND = "pansvm results 1"
ENTRIES = {"coordinator": str, "result": str, "model": str}
FILE = "for-hospitals.json"
