import Testing

@testable import SyncService

@Suite("Range headers")
struct RequestedRangeTests {
    @Test(
        "A range selects its bytes, as far as they exist",
        arguments: [
            ("bytes=0-0", 0...0), ("bytes=0-", 0...9), ("BYTES=3-5", 3...5), ("bytes=9-", 9...9),
            ("bytes=8-99", 8...9), ("bytes=-1", 9...9), ("bytes=-10", 0...9), ("bytes=-11", 0...9),
            ("bytes=0-99999999999999999999", 0...9), ("bytes=-99999999999999999999", 0...9),
        ] as [(String, ClosedRange<Int64>)])
    func satisfiable(header: String, positions: ClosedRange<Int64>) {
        #expect(RequestedRange(header)?.positions(inLength: 10) == positions)
    }

    @Test(
        "A range without any byte is not satisfiable",
        arguments: ["bytes=10-", "bytes=10-20", "bytes=-0", "bytes=99999999999999999999-"])
    func unsatisfiable(header: String) throws {
        #expect(try #require(RequestedRange(header)).positions(inLength: 10) == nil)
    }

    @Test(
        "Any other range is ignored",
        arguments: [
            "", "bytes", "bytes=", "bytes=-", "bytes=5-3", "bytes=a-b", "bytes=1", "bytes=1-2-3", "bytes=0-1,3-4",
            "bytes=0-1,", "bytes= 0-1", "bytes=+1-2", "items=0-1", "bytes:0-1", "bytes=0x1-2", "bytes=１-2",
        ])
    func ignored(header: String) {
        #expect(RequestedRange(header) == nil)
    }
}
