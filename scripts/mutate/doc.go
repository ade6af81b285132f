// Mutate checks the tests: it breaks the code in each way that mutants.txt
// lists, one at a time and in a copy, and fails if the tests do not notice.
//
//	go run . [-list ../mutants.txt] [-root ../..] [-only WORD] [-part N] [-workers 2]
//
// Every selection of tests must pass on the code as it is, which a part takes for
// granted; a mutant whose text is not found exactly once, that does not compile, or
// whose run fails for no reason of the tests, is an error and not a success. See list.go for the format of the list, run.go for what is run.
package main
