import FoundationEssentials
import Testing

@testable import Sandbox

@Suite("The pages for users")
struct PageTests {
    @Test(
        "Users' text never becomes markup, not even before a combining character",
        arguments: [
            ("<b>", "&lt;b&gt;"), ("\"'&", "&quot;&#39;&amp;"), ("\"\u{301}", "&quot;\u{301}"),
            ("<\u{338}script>", "&lt;\u{338}script&gt;"), ("\u{202E}", "\\u{202e}"),
        ])
    func escaping(text: String, escaped: String) {
        #expect(PageText.escape(text).unicodeScalars.elementsEqual(escaped.unicodeScalars))
    }

    @Test("Line breaks and tabs of a text are kept; carriage returns are removed")
    func lines() { #expect(PageText.escapeLines("a\r\n\tb\u{7}\n") == "a\n\tb\\u{7}\n") }

    @Test(
        "Sizes are readable",
        arguments: [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1 kB"), (262_144, "262 kB"), (1_048_576, "1 MB")])
    func sizes(bytes: Int, text: String) { #expect(PageText.size(bytes) == text) }

    @Test(
        "Text is shown as text, and a picture as a picture, regardless of its name",
        arguments: [
            ("text/html", Array("<script>".utf8), ShownContent.text("<script>")),
            ("image/jpeg", Array("<script>".utf8), .text("<script>")),
            ("image/jpeg; x=y", [0xFF, 0xD8, 0xFF], .picture("image/jpeg")),
            ("IMAGE/SVG+XML", Array("<svg/>".utf8), .picture("image/svg+xml")),
            ("text/plain", [0x00], .bytes), ("image/unknown", [0xFF], .bytes),
        ] as [(String, [UInt8], ShownContent)])
    func content(type: String, bytes: [UInt8], shown: ShownContent) {
        #expect(ShownContent(mimeType: type, beginning: bytes[...], isWhole: true) == shown)
    }

    @Test("A character cut by the limit is omitted; the same bytes at the end of a file are not text")
    func cutCharacter() {
        let bytes = Array("Grüße".utf8).prefix(3)

        #expect(ShownContent(mimeType: "", beginning: bytes, isWhole: false) == .text("Gr"))
        #expect(ShownContent(mimeType: "", beginning: bytes, isWhole: true) == .bytes)
    }

    @Test("A file has a page, in every storage", arguments: [Provider.google, .dropbox, .microsoft, .webdav])
    func file(provider: Provider) throws {
        let sandbox = try TestSandbox()
        let id = try #require(
            try sandbox.account(["provider": .string(provider.rawValue), "name": "Al"])["id"]?.string)
        let files = "/sandbox/accounts/\(PercentEncoding.encode(id))"
        sandbox.send("PUT", "\(files)/files/a%20%3Cb%3E.txt", body: Array("one <script>\n".utf8))
        let people = String(decoding: try sandbox.send("GET", "/sandbox").content(), as: UTF8.self)
        let address = try #require(people.firstMatch(of: /<a href="([^"]*\/view\/[^"]*)"/)?.1)

        let response = sandbox.send("GET", String(address))

        let page = String(decoding: try response.content(), as: UTF8.self)
        #expect(response.status == 200 && page.contains("<pre>one &lt;script&gt;\n</pre>"), "\(page)")
        #expect(people.contains("<pre class=tile>one &lt;script&gt;\n</pre>"))
        #expect(response.header("Content-Security-Policy")?.contains("default-src 'none'") == true)
        #expect(response.header("X-Content-Type-Options") == "nosniff")
        #expect(sandbox.send("GET", "\(files)/view/other.txt").status == 404)
    }
}
