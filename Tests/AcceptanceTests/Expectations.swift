import Foundation
import TestSupport
import Testing

/// Expects exactly one version header, with a lower-case name and three integers.
func expectVersion(_ reply: HTTPReply, sourceLocation: SourceLocation = #_sourceLocation) {
    let versions = reply.headers.filter { $0.name == "syncserver-version" }.map(\.value)
    #expect(
        reply.values(of: "syncserver-version").count == 1, "version header of \(reply)", sourceLocation: sourceLocation)
    #expect(versions.count == 1, "letter case of the version header", sourceLocation: sourceLocation)
    let parts = (versions.first ?? "").split(separator: ".", omittingEmptySubsequences: false)
    #expect(parts.count == 3 && parts.allSatisfy { Int($0) != nil }, sourceLocation: sourceLocation)
}

/// Expects a well-formed error reply with one of `statuses`, and with `goneReason`.
func expectError(
    _ reply: HTTPReply, _ statuses: Int..., goneReason: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    expectError(reply, oneOf: statuses, goneReason: goneReason, sourceLocation: sourceLocation)
}

/// Expects a well-formed error reply with a status from a list.
func expectError(
    _ reply: HTTPReply, oneOf statuses: [Int], goneReason: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    guard statuses.contains(reply.status) else {
        Issue.record("expected \(statuses), got \(reply)", sourceLocation: sourceLocation)
        return
    }
    expectVersion(reply, sourceLocation: sourceLocation)
    #expect(
        reply.values(of: "content-type").first?.hasPrefix("application/json") == true, sourceLocation: sourceLocation)
    #expect(reply.body.count < 1024, sourceLocation: sourceLocation)
    let code = reply.json?.code?.text
    #expect(reply.json?.error?.text?.isEmpty == false, "no error in \(reply)", sourceLocation: sourceLocation)
    #expect(code?.wholeMatch(of: /[a-z0-9_]+/) != nil, "no code in \(reply)", sourceLocation: sourceLocation)
    #expect(reply.json?.requestId?.text?.isEmpty == false, "no requestId in \(reply)", sourceLocation: sourceLocation)
    #expect(reply.json?.retryable?.bool != nil, "no retryable in \(reply)", sourceLocation: sourceLocation)
    #expect(reply.json?.goneReason?.text == goneReason, "reason of \(reply)", sourceLocation: sourceLocation)
    #expect(reply.values(of: "syncserver-error-code") == [code ?? "?"], sourceLocation: sourceLocation)
    #expect(reply.messageParameters == nil, sourceLocation: sourceLocation)
}

/// Expects a success that contains only the group's current master version.
func expectStale(
    _ reply: HTTPReply, _ masterVersion: Int64, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(reply.status == 200, "got \(reply)", sourceLocation: sourceLocation)
    expectVersion(reply, sourceLocation: sourceLocation)
    let message = reply.messageParameters ?? reply.json
    #expect(message == .object(["masterVersionUpdate": .integer(masterVersion)]), sourceLocation: sourceLocation)
    if reply.messageParameters != nil { #expect(reply.body.isEmpty, sourceLocation: sourceLocation) }
}

/// Expects a success with a JSON body.
func expectJSON(_ reply: HTTPReply, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(reply.status == 200, "got \(reply)", sourceLocation: sourceLocation)
    #expect(reply.json != nil, "no JSON object in \(reply)", sourceLocation: sourceLocation)
    #expect(
        reply.values(of: "content-type").first?.hasPrefix("application/json") == true, sourceLocation: sourceLocation)
    expectVersion(reply, sourceLocation: sourceLocation)
}

/// Expects a download of exactly these bytes with their checksum.
func expectDownload(
    _ reply: HTTPReply, of file: TestFile, metadata: String? = nil, contentsChanged: Bool = false,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    guard reply.status == 200 else {
        Issue.record("expected the file, got \(reply)", sourceLocation: sourceLocation)
        return
    }
    expectVersion(reply, sourceLocation: sourceLocation)
    #expect(reply.isComplete && reply.body == file.contents, "wrong bytes", sourceLocation: sourceLocation)
    let message = reply.messageParameters
    #expect(message?.checkSum?.text == file.checkSum, sourceLocation: sourceLocation)
    #expect(message?.contentsChanged?.bool == contentsChanged, sourceLocation: sourceLocation)
    #expect(message?.cloudStorageType?.text == file.cloudStorageType, sourceLocation: sourceLocation)
    #expect(message?.appMetaData?.text == metadata, sourceLocation: sourceLocation)
    #expect(message?.masterVersionUpdate == nil, sourceLocation: sourceLocation)
    #expect(message?.gone == nil, sourceLocation: sourceLocation)
}

/// Whether the text is a valid date and time in the wire's fixed format, in UTC.
func isWireDate(_ text: String?) -> Bool {
    guard let text, text.wholeMatch(of: /\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}/) != nil else { return false }
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    formatter.dateFormat = "yyyy-MM-dd HH:mm:ss"
    formatter.isLenient = false
    return formatter.date(from: text).map { formatter.string(from: $0) == text } ?? false
}

extension TestServer {
    /// Writes the stack's configuration with changed settings to a file that only its owner can read.
    func changedConfiguration(
        in folder: ScratchFolder, _ change: (inout [String: Any]) throws -> Void
    ) throws -> String {
        let original = try Data(contentsOf: URL(filePath: environment.value("CONFIG_FILE")))
        var settings = try #require(JSONSerialization.jsonObject(with: original) as? [String: Any])
        try change(&settings)
        let path = folder.url.appending(path: "syncd.json").path
        let data = try JSONSerialization.data(withJSONObject: settings)
        try #require(
            FileManager.default.createFile(atPath: path, contents: data, attributes: [.posixPermissions: 0o600]))
        return path
    }
}

/// Tests that make whole providers or processes fail. They have separate stacks and run one at a time.
@Suite("On private stacks", .serialized)
struct PrivateStackTests {}

/// Tests that transfer gigabytes: one at a time, in parallel to all others, on an undisturbed stack.
@Suite("Files of gigabytes", .serialized)
struct GigabyteTests {}

extension Tag {
    /// Transfers gigabytes; takes minutes.
    @Tag static var large: Self
}
