import Foundation
import SyncProtocol
import SyncServerConnection
import Testing

/// The values of docs/protocol.md, section 7.4, were computed with independent tools; the others with coreutils and
/// Python's hashlib.
@Suite("Checksums of files")
struct CheckSumTests {
    /// Writes the bytes to a file and computes the checksum in both ways.
    private func check(_ bytes: Data, _ flavour: CheckSum.Flavour, _ expected: String) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "sum-\(UUID().uuidString)")
        try bytes.write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        // The raw text, since letter case matters here.
        #expect(try await CheckSum.ofFile(at: file, flavour: flavour).rawValue == expected)
        #expect(CheckSum.of(bytes, flavour: flavour).rawValue == expected)
    }

    @Test(
        "Small and empty files",
        arguments: [
            ("Hello World", CheckSum.Flavour.md5, "b10a8db164e0754105b7a99be72e3fe5"),
            (
                "Hello World", .dropboxContentHash,
                "42a873ac3abd02122d27e80486c6fa1ef78694e8505fcec9cbcc8a7728ba8949"
            ),
            ("Hello World", .sha1, "0A4D55A8D778E5022FAB701977C5D840BBC486D0"),
            ("", .md5, "d41d8cd98f00b204e9800998ecf8427e"),
            ("", .dropboxContentHash, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("", .sha1, "DA39A3EE5E6B4B0D3255BFEF95601890AFD80709"),
        ])
    func small(text: String, flavour: CheckSum.Flavour, expected: String) async throws {
        try await check(Data(text.utf8), flavour, expected)
    }

    @Test("A file of several blocks, with a full or partial last block", arguments: LargeSample.all)
    func large(sample: LargeSample) async throws {
        let bytes = Data((0..<sample.count).map { UInt8(truncatingIfNeeded: $0 % 251) })
        try await check(bytes, sample.flavour, sample.expected)
    }

    @Test("A missing file is an error")
    func missing() async {
        await #expect(throws: (any Error).self) {
            try await CheckSum.ofFile(at: URL(filePath: "/nonexistent/file"), flavour: .md5)
        }
    }

    @Test("A cancelled task stops reading")
    func cancelled() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "sum-\(UUID().uuidString)")
        try Data(count: 3 << 20).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let task = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return try await CheckSum.ofFile(at: file, flavour: .sha1)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

/// A file whose byte i is i mod 251, and its checksum.
struct LargeSample: Sendable {
    let count: Int
    let flavour: CheckSum.Flavour
    let expected: String

    static let all = [
        LargeSample(
            count: 4_194_303, flavour: .dropboxContentHash,
            expected: "e1d05b9adf4293b7fec11b099ce74116fc06dfa733a9833be9166ab4c769da43"),
        LargeSample(
            count: 4_194_304, flavour: .dropboxContentHash,
            expected: "b9654428408015906b44a00935b70af33830aa344b780b0eabd535a133150d04"),
        LargeSample(
            count: 4_194_305, flavour: .dropboxContentHash,
            expected: "4a6cc0a344febaa07772e7c974834b2fb1d24594d4ba15f27c97a54699709f44"),
        LargeSample(
            count: 8_388_608, flavour: .dropboxContentHash,
            expected: "b76a633d9733b991a976dba723df6940bfaf789390a929fe8f68fd1b4705c8c1"),
        LargeSample(count: 4_194_305, flavour: .md5, expected: "31244b258b16e75cdf5fd63f0c98f8c6"),
        LargeSample(count: 4_194_305, flavour: .sha1, expected: "B4AF8F5269B5A9AEDE8417CF4F698F4D9C65B23A"),
    ]
}
