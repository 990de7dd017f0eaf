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
        "A text that is empty, too long or not hexadecimal is not a checksum",
        arguments: ["", "xyz", "0x12", "12 ", "é"])
    func malformed(text: String) {
        #expect(CheckSum(text) == nil)
        #expect(CheckSum(String(repeating: "0", count: 129)) == nil)
    }

    @Test("Types of deployed clients, and types that phones produce, may be uploaded; others may not [F40]")
    func standardTypes() throws {
        #expect(
            MIMETypeTable.deployed.types.map(\.rawValue) == ["application/x-url", "image/jpeg", "text/plain"])
        for (type, fileExtension) in [
            (MIMEType.text, "txt"), (.jpeg, "jpg"), (.url, "url"), (.heic, "heic"), (.png, "png"), (.mp4, "mp4"),
            (.quickTime, "mov"), (.m4a, "m4a"), (.json, "json"), (.pdf, "pdf"),
        ] {
            #expect(MIMETypeTable.standard.accepts(type) && type.fileExtension == fileExtension)
        }
        for other in ["unknown", "text/html", "Text/Plain", "text/plain ", "text", "image/svg+xml"] {
            let type = try #require(MIMEType(other))
            #expect(!MIMETypeTable.standard.accepts(type) && type.fileExtension == "dat")
        }
        #expect(MIMETypeTable.standard.types.count == Set(MIMETypeTable.standard.types.map(\.rawValue)).count)
    }

    @Test("Extensions in cloud storage are those of SyncServerII only for the types that it knew")
    func olderExtensions() throws {
        #expect(MIMETypeTable.extensionOfOlderServers(for: .jpeg) == "jpg")
        #expect(MIMETypeTable.extensionOfOlderServers(for: .heic) == "dat")
        #expect(MIMETypeTable.extensionOfOlderServers(for: try #require(MIMEType("unknown"))) == "unknown")
    }

    @Test("Configuration adds types in lower case, and cannot add `unknown` or anything that is not a type")
    func additionalTypes() throws {
        let table = try #require(MIMETypeTable.deployed.adding(["model/x-album+json", "text/plain"]))
        #expect(table.accepts(try #require(MIMEType("model/x-album+json"))) && table.types.count == 4)
        let long = "a/" + String(repeating: "b", count: 99)
        for text in ["unknown", "", "a", "a/", "/b", "a/b/c", "A/b", "a/b c", "a/.b", "a/\u{E4}", "a/b\r\nx: y", long] {
            #expect(MIMETypeTable.deployed.adding([text]) == nil, "\(text)")
        }
    }
}
