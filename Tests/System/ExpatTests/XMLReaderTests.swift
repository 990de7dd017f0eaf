import Expat
import Foundation
import Testing

@Suite("Untrusted XML")
struct XMLReaderTests {
    private let dav = "DAV:"

    @Test("Names are qualified by namespace, not prefix, and XML's predefined entities are resolved")
    func namespaces() throws {
        let root = try XMLElement(
            parsing: Array(
                """
                <?xml version="1.0" encoding="utf-8"?>
                <d:multistatus xmlns:d="DAV:" xmlns:oc="http://owncloud.org/ns"><!-- a comment -->
                <d:response><d:href>/a%20b&amp;&lt;&#x263A;<![CDATA[<c>]]></d:href><oc:fileid>17</oc:fileid></d:response>
                <response xmlns="DAV:" kind="second"><href/></response><other/>
                </d:multistatus>
                """.utf8))
        #expect(root.isNamed("multistatus", in: dav))
        #expect(root.children.count == 3)
        let responses = root.children("response", in: dav)
        #expect(responses.count == 2)
        #expect(responses[0].child("href", in: dav)?.text == "/a%20b&<☺<c>")
        #expect(responses[0].child("fileid", in: "http://owncloud.org/ns")?.text == "17")
        #expect(responses[0].child("fileid", in: dav) == nil)
        #expect(responses[1].child("href", in: dav)?.text == "")
        #expect(root.children[2].namespace == "")
    }

    @Test("A text that arrives byte by byte gives the same result, and each child is returned when it is complete")
    func pieces() throws {
        let text = Array("<l><e>é&amp;1</e><e><f>2</f></e></l>".utf8)
        var reader = try XMLReader()
        var children: [XMLElement] = []
        for (index, byte) in text.enumerated() {
            let complete = try reader.read([byte].span)
            #expect(complete.isEmpty == ![17, 32].contains(index), "at \(index)")
            children += complete
        }
        #expect(try reader.finish().name == "l")
        #expect(children == (try XMLElement(parsing: text)).children)
        #expect(children.map(\.text) == ["é&1", ""])
    }

    @Test("A document type declaration is rejected before its entities are expanded or loaded")
    func documentTypes() throws {
        var laughs = "<!ENTITY a0 \"ha\">"
        for level in 1...30 { laughs += "<!ENTITY a\(level) \"&a\(level - 1);&a\(level - 1);\">" }
        for declaration in [
            "<!DOCTYPE r [\(laughs)]>", "<!DOCTYPE r SYSTEM \"file:///etc/hostname\">",
            "<!DOCTYPE r [<!ENTITY a30 SYSTEM \"file:///etc/hostname\">]>", "<!DOCTYPE r>",
            "<!DOCTYPE r [<!ENTITY % p SYSTEM \"http://127.0.0.1:1/\"> %p;]>",
        ] {
            #expect(throws: XMLError.documentType) { try XMLElement(parsing: Array("\(declaration)<r>&a30;</r>".utf8)) }
        }
        #expect(throws: XMLError.malformed(code: 11)) { try XMLElement(parsing: Array("<r>&a30;</r>".utf8)) }
    }

    @Test("Depth, number of elements, and bytes are limited; the limits themselves are allowed")
    func limits() throws {
        let limits = XMLLimits(bytes: 1000, childBytes: 100, depth: 4, childElements: 3)
        func parse(_ text: String) throws { _ = try XMLElement(parsing: Array(text.utf8), limits: limits) }
        try parse("<r><a><b><c/></b></a></r>")
        #expect(throws: XMLError.tooLarge) { try parse("<r><a><b><c><d/></c></b></a></r>") }
        try parse("<r><a><b/><b/></a><a/><a/><a/><a/></r>")
        #expect(throws: XMLError.tooLarge) { try parse("<r><a><b/><b/><b/></a></r>") }
        try parse("<r><a>" + String(repeating: "x", count: 99) + "</a></r>")
        #expect(throws: XMLError.tooLarge) { try parse("<r><a>" + String(repeating: "x", count: 100) + "</a></r>") }
        #expect(throws: XMLError.tooLarge) { try parse("<r>" + String(repeating: "x", count: 100) + "</r>") }
        try parse("<r>" + String(repeating: "<a/>", count: 248) + " </r>")
        #expect(throws: XMLError.tooLarge) { try parse("<r>" + String(repeating: "<a/>", count: 249) + "</r>") }
        // Of 200,000 levels, the fifth is rejected.
        let deep = Array(repeating: Array("<a>".utf8), count: 200_000).joined()
        #expect(throws: XMLError.tooLarge) {
            try XMLElement(parsing: deep, limits: XMLLimits(bytes: .max, childBytes: .max, childElements: .max))
        }
    }

    @Test("A long namespace is rejected, since each short element would repeat it; one in use is stored once")
    func namespaceBomb() throws {
        let long = String(repeating: "n", count: 200_000)
        #expect(throws: XMLError.tooLarge) {
            try XMLElement(parsing: Array("<m xmlns='\(long)'><a/></m>".utf8))
        }
        let fair = String(repeating: "n", count: 1_000)
        let text = "<m xmlns='\(fair)'>" + String(repeating: "<a/>", count: 200_000) + "</m>"
        #expect(try XMLElement(parsing: Array(text.utf8)).children.allSatisfy { $0.namespace == fair })
        let many = (0..<300).map { "<a xmlns='n\($0)'/>" }.joined()
        #expect(throws: XMLError.tooLarge) { try XMLElement(parsing: Array("<m>\(many)</m>".utf8)) }
    }

    @Test("An endless token is rejected before repeated parsing becomes expensive")
    func endlessToken() throws {
        var reader = try XMLReader(limits: XMLLimits(bytes: 1 << 30))
        _ = try reader.read(Array("<m><a b='".utf8).span)
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 16_384)
        var taken = 0
        #expect(throws: XMLError.tooLarge) {
            while taken < 100 {
                _ = try reader.read(piece.span)
                taken += 1
            }
        }
        #expect(taken == 16)
    }

    @Test(
        "Text that is not well-formed is an error",
        arguments: [
            "", " ", "<", "<a", "<a>", "<a><b></a>", "<a/><b/>", "<a/>x", "a", "<a:b/>", "<a>&b;</a>",
            "<a b='1' b='2'/>",
            "{\"a\":1}", "<a>\u{1}</a>", "<a xmlns:x=''><x:b/></a>", "<html><br></html>",
        ])
    func malformed(text: String) throws {
        #expect {
            try XMLElement(parsing: Array(text.utf8))
        } throws: { error in
            if case XMLError.malformed = error { true } else { false }
        }
    }

    @Test("Every truncated text is an error, and the error persists")
    func truncated() throws {
        let text = Array("<?xml version='1.0'?><r xmlns='DAV:'><a>1&lt;</a><b/></r>".utf8)
        for end in text.indices {
            #expect(throws: XMLError.self) { try XMLElement(parsing: text[..<end]) }
        }
        var reader = try XMLReader()
        #expect(throws: XMLError.malformed(code: 7)) { try reader.read(Array("<r><a></b>".utf8).span) }
        #expect(throws: XMLError.malformed(code: 7)) { try reader.read(Array("</a></r>".utf8).span) }
        #expect(throws: XMLError.malformed(code: 7)) { try reader.finish() }
    }

    @Test("The encodings required by XML are supported; other encodings and invalid bytes are rejected")
    func encodings() throws {
        let latin: [UInt8] = Array("<?xml version='1.0' encoding='ISO-8859-1'?><r>".utf8) + [0xE9] + Array("</r>".utf8)
        #expect(try XMLElement(parsing: latin).text == "é")
        let wide = Array(try #require("<?xml version='1.0' encoding='UTF-16'?><r>é😀</r>".data(using: .utf16)))
        #expect(try XMLElement(parsing: wide).text == "é😀")
        #expect(throws: XMLError.self) { try XMLElement(parsing: Array("<r>".utf8) + [0xE9] + Array("</r>".utf8)) }
        #expect(throws: XMLError.self) {
            try XMLElement(parsing: Array("<r>".utf8) + [0xC0, 0xAF] + Array("</r>".utf8))
        }
        #expect(throws: XMLError.malformed(code: 18)) {
            try XMLElement(parsing: Array("<?xml version='1.0' encoding='EBCDIC-CP-US'?><r/>".utf8))
        }
        #expect(throws: XMLError.malformed(code: 19)) {
            try XMLElement(parsing: Array("<?xml version='1.0' encoding='UTF-16'?><r/>".utf8))
        }
    }
}
