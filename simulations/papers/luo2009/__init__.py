"""The figures and Table 2 of Luo, Fan, Lin, Zhou and Bertino (2009): directions, since their numbers are lost."""
