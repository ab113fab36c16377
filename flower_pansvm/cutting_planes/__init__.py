"""Linear SVM by distributed cutting planes: the sites' sums, the master problem and the loop around both."""
