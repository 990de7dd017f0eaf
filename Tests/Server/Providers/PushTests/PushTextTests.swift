import Testing

@testable import Providers

@Suite("Text of a notification")
struct PushTextTests {
    @Test("Sender, group and message form one line; missing names are omitted")
    func composed() {
        #expect(PushText.composed(sender: "Alice", group: "Tom & Jerry", message: "Hi") == "Alice, Tom & Jerry: Hi")
        #expect(PushText.composed(sender: "Alice", group: nil, message: "Hi") == "Alice: Hi")
        #expect(PushText.composed(sender: "Alice", group: " ", message: "Hi") == "Alice: Hi")
        #expect(PushText.composed(sender: "", group: "G", message: "Hi") == "G: Hi")
        #expect(PushText.composed(sender: "", group: nil, message: "100%\n🎉") == "100%\n🎉")
    }

    @Test("Without a message there is no notification", arguments: ["", " ", "\n\t"])
    func blank(message: String) {
        #expect(PushText.composed(sender: "Alice", group: "G", message: message) == nil)
    }

    @Test("A text that is too long is cut between two characters, and ends in an ellipsis")
    func shortened() throws {
        let family = "👨‍👩‍👧‍👦"
        let text = try #require(
            PushText.composed(sender: "A", group: nil, message: String(repeating: family, count: 1_000)))
        #expect(text.utf8.count <= PushText.maximumBytes)
        #expect(text.utf8.count > PushText.maximumBytes - family.utf8.count - 3)
        #expect(text.hasPrefix("A: \(family)"))
        #expect(text.hasSuffix("\(family)…"))
        #expect(PushText.shortened("abcdef") { $0.utf8.count <= 5 } == "ab…")
        #expect(PushText.shortened("abcdef") { $0.utf8.count <= 6 } == "abcdef")
        #expect(PushText.shortened("abcdef") { $0.utf8.count <= 1 } == "…")
    }
}
