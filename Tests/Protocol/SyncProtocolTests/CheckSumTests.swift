import SyncProtocol
import Testing

@Suite("Checksums and MIME types")
struct CheckSumTests {
    @Test("Checksums are compared without regard to letter case [124]")
    func letterCase() {
        #expect(CheckSum("b10a8db164e0754105b7a99be72e3fe5") == CheckSum("B10A8DB164E0754105B7A99BE72E3FE5"))
        #expect(CheckSum("b10a8db164e0754105b7a99be72e3fe5") != CheckSum("b10a8db164e0754105b7a99be72e3fe6"))
    }

    @Test("Each storage has its kind of checksum, and each kind its canonical letter case")
    func canonicalForm() {
        let sha1 = CheckSum("0a4d55a8d778e5022fab701977c5d840bbc486d0")
        #expect(CloudStorageType.microsoft.checkSumFlavour == .sha1)
        #expect(sha1?.canonical(as: .sha1)?.rawValue == "0A4D55A8D778E5022FAB701977C5D840BBC486D0")
        let md5 = CheckSum("B10A8DB164E0754105B7A99BE72E3FE5")
        #expect(
            md5?.canonical(as: CloudStorageType.google.checkSumFlavour)?.rawValue == "b10a8db164e0754105b7a99be72e3fe5")
        #expect(md5?.canonical(as: CloudStorageType.dropbox.checkSumFlavour) == nil)
    }

    @Test("A digest is written in the form of its kind; one of another length is rejected")
    func digest() {
        let bytes = [UInt8](repeating: 0xAB, count: 20)
        #expect(CheckSum(digest: bytes, flavour: .sha1)?.rawValue == String(repeating: "AB", count: 20))
        #expect(CheckSum(digest: bytes, flavour: .md5) == nil)
        #expect(CheckSum(digest: bytes[..<16], flavour: .md5)?.rawValue == String(repeating: "ab", count: 16))
    }

    @Test(
        "A text that is not hexadecimal, empty or too long is not a checksum",
        arguments: ["", "xyz", "0x12", "12 ", "é"])
    func malformed(text: String) {
        #expect(CheckSum(text) == nil)
        #expect(CheckSum(String(repeating: "0", count: 129)) == nil)
    }

    @Test("Only the three types that every client knows may be uploaded [F40]")
    func standardTypes() throws {
        let table = MIMETypeTable.standard
        #expect(table.fileExtension(for: try #require(MIMEType("text/plain"))) == "txt")
        #expect(table.fileExtension(for: try #require(MIMEType("image/jpeg"))) == "jpg")
        #expect(table.fileExtension(for: try #require(MIMEType("application/x-url"))) == "url")
        for other in ["unknown", "image/png", "Text/Plain", "text/plain "] {
            #expect(table.fileExtension(for: try #require(MIMEType(other))) == nil)
        }
    }

    @Test("Configuration adds types, and cannot add `unknown`, contradict the standard, or inject a path")
    func additionalTypes() throws {
        let table = try #require(MIMETypeTable.standard.adding(["image/png": "png", "text/plain": "txt"]))
        #expect(table.fileExtension(for: try #require(MIMEType("image/png"))) == "png")
        for (type, fileExtension) in [
            ("unknown", "unknown"), ("text/plain", "text"), ("a/b", "../x"), ("a/b", ""), ("", "x"), ("a/b", "PNG"),
        ] {
            #expect(MIMETypeTable.standard.adding([type: fileExtension]) == nil)
        }
    }
}
