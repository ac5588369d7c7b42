"""Import of answers from traces and data sets of other tools, as records of the protocol rag. Only
files are read: nothing is fetched, and none of the tools' packages are needed."""
