"""The method itself: kernels, feature map, cutting planes, secure sums and the fitted model.

Plain numpy in, plain numpy out; nothing here knows about Flower or about files of patients.
"""
