"""Where tables are kept: one file a source. Each makes rows and column names of bytes, and changes no cell.

`clients.table.file.SOURCES` lists them. Packages that only one of them needs are imported where it needs them.
"""
