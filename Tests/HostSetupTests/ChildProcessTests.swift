import Posix
import Testing

@Suite("Running other programs")
struct ChildProcessTests {
    @Test("Status and everything written come back; a signal counts as 128 and its number")
    func outcome() throws {
        let said = try ChildProcess.run(["sh", "-c", "echo out; echo err >&2; exit 3"])
        let killed = try ChildProcess.run(["sh", "-c", "kill -KILL $$"])

        #expect(said.status == 3)
        #expect(said.output == "out\nerr\n")
        #expect(killed.status == 128 + 9)
    }

    @Test("A program that does not exist is an error, and one that reads gets nothing")
    func missing() throws {
        #expect(throws: PosixError.self) { try ChildProcess.run(["no-such-program-anywhere"]) }
        #expect(try ChildProcess.run(["cat"]).output == "")
    }

    @Test("Much output does not block")
    func large() throws {
        #expect(try ChildProcess.run(["head", "-c", "3000000", "/dev/zero"]).output.utf8.count >= 1 << 20)
    }
}
