package redislimit_test

const processVariable = "EDGELIMIT_TEST_PROCESS"

func evaluateInProcess(addr string) int { return 1 }
