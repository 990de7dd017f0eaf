import Foundation
import Posix
import TestSupport
import Testing

@Suite("Running other programs")
struct ChildProcessTests {
    @Test("Status and output are returned; a signal counts as 128 plus its number")
    func outcome() throws {
        let said = try ChildProcess.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        let killed = try ChildProcess.run(["sh", "-c", "kill -KILL $$"])

        #expect(said.status == 3)
        #expect(said.output == "out\nerr\n")
        #expect(killed.status == 128 + 9)
    }

    @Test("A program that does not exist is an error, and one that reads receives an end of file")
    func missing() throws {
        #expect(throws: PosixError.self) { try ChildProcess.run(["no-such-program-anywhere"]) }
        #expect(try ChildProcess.run(["cat"]).output == "")
    }

    @Test("A program that exceeds its time is killed, even if a child keeps the output open")
    func limit() throws {
        let begin = ContinuousClock.now
        #expect(throws: PosixError(call: "sh", code: ETIMEDOUT)) {
            try ChildProcess.run(["sh", "-c", "sleep 30 & exec sleep 30"], within: .milliseconds(100))
        }
        #expect(ContinuousClock.now - begin < .seconds(20))
        #expect(try ChildProcess.run(["echo", "done"], within: .seconds(20)).output == "done\n")
    }

    @Test("A large output does not block")
    func large() throws {
        #expect(try ChildProcess.run(["head", "-c", "3000000", "/dev/zero"]).output.utf8.count >= 1 << 20)
    }

    @Test("A running program is reported as running, can be signalled, and its end can be queried again")
    func goesOn() throws {
        let input = Pipe()
        let program = try ChildProcess(["cat"], input: input.fileHandleForReading.fileDescriptor)
        #expect(program.isRunning)

        program.send(SIGTERM)

        #expect(try program.wait() == 128 + SIGTERM)
        #expect(!program.isRunning)
        #expect(try program.wait() == 128 + SIGTERM)
        program.send(SIGKILL)
        try input.fileHandleForWriting.close()
    }

    @Test("A signal blocked in the starting thread still ends a program")
    func signalMask() throws {
        var usual = sigset_t()
        var blocked = sigset_t()
        unsafe sigemptyset(&blocked)
        unsafe sigaddset(&blocked, SIGUSR2)
        unsafe pthread_sigmask(SIG_BLOCK, &blocked, &usual)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &usual, nil) }

        let killed = try ChildProcess.run(["sh", "-c", "kill -USR2 $$; echo still here"])

        #expect(killed.status == 128 + SIGUSR2)
        #expect(killed.output.isEmpty)
    }

    @Test("The end of a program is detected although its child keeps the descriptors open")
    func grandchild() throws {
        let input = Pipe()
        let output = Pipe()
        let program = try ChildProcess(
            ["sh", "-c", "exec 9<&0; cat <&9 & exit 4"], input: input.fileHandleForReading.fileDescriptor,
            output: output.fileHandleForWriting.fileDescriptor)
        try output.fileHandleForWriting.close()

        #expect(try program.wait() == 4)

        // The grandchild lives until its input ends; then the output has no writers left.
        try input.fileHandleForWriting.write(contentsOf: Data("still here".utf8))
        try input.fileHandleForWriting.close()
        #expect(try output.fileHandleForReading.readToEnd() == Data("still here".utf8))
    }

    @Test("A program receives only the three standard descriptors")
    func descriptors() throws {
        // Foundation's pipes are inheritable.
        let others = (0..<5).map { _ in Pipe() }
        defer { for other in others { try? other.fileHandleForWriting.close() } }

        // The second command keeps the shell running while another process lists its descriptors.
        let open = try ChildProcess.run(["sh", "-c", "ls /proc/$$/fd; true"]).output

        #expect(open == "0\n1\n2\n")
    }

    @Test("Many programs end at once while others start and continue")
    func manyAtOnce() throws {
        let input = Pipe()
        let outcomes = concurrently(4) { number -> [ChildProcess] in
            try (0..<100).compactMap { _ in
                if number == 0 {
                    return try ChildProcess(["cat"], input: input.fileHandleForReading.fileDescriptor)
                }
                #expect(try ChildProcess.run(["true"]).status == 0)
                return nil
            }
        }
        try input.fileHandleForWriting.close()

        #expect(outcomes.failures().isEmpty)
        let staying = outcomes.successes().flatMap(\.self)
        #expect(staying.count == 100)
        for program in staying { #expect(try program.wait() == 0) }
    }
}
