import Foundation
import OpenSSLCrypto
import StorageHashes
import TestSupport
import Testing

@Suite("Dropbox's content hash")
struct DropboxContentHashTests {
    @Test(
        "Known answers [365]",
        arguments: [
            (UInt8(0), 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (0x61, 1, "bf5d3affb73efd2ec6c36ad3112dd933efed63c4e1cbffcfa88e2759c144f2d8"),
            (0x61, 4_194_303, "49c0a79929eacf8ccbe77f99ff043ca55f97000c68bccefc644791170969a3b2"),
            (0x61, 4_194_304, "907a506cf5e706bda5c7a29b43c9c65d8344bd2fa2f22339b359c214812af5a1"),
            (0x61, 4_194_305, "5f858b62ccd88447586305aec6fd53c96747cfebf527cbba129a6dfed47d9624"),
            (0x61, 104_857_600, "88d6f11fcd1ed48ea41554a71064b5472bc9cfbf5640262639ca8ae06fe5467e"),
            (0, 10_485_760, "cfbbdae2c77066b55ee0bca512cfca2299904017a44f1dc362f4cc4e3924925d"),
        ])
    func repeatedByte(byte: UInt8, count: Int, hash: String) {
        let input = [UInt8](repeating: byte, count: count)
        var whole = DropboxContentHash()
        whole.update(input)
        #expect(whole.finish().hexLowercase == hash)
        var pieces = DropboxContentHash()
        for piece in RandomData.pieces(of: input) { pieces.update(piece) }
        #expect(pieces.finish().hexLowercase == hash)
    }

    @Test(
        "Hashes of texts",
        arguments: [
            ("hello", "9595c9df90075148eb06860365df33584b75bff782a510c6cd4883a419833d50"),
            ("Hello, world!", "6246efc88ae4aa025e48c9c7adc723d5c97171a1fa6233623c7251ab8e57602f"),
            ("Hello World", "42a873ac3abd02122d27e80486c6fa1ef78694e8505fcec9cbcc8a7728ba8949"),
        ])
    func text(text: String, hash: String) {
        var contentHash = DropboxContentHash()
        contentHash.update(Array(text.utf8))
        #expect(contentHash.finish().hexLowercase == hash)
    }

    @Test("Known answer for 1 GiB [365]")
    func gibibyte() {
        let mebibyte = [UInt8](repeating: 0x61, count: 1 << 20)
        var hash = DropboxContentHash()
        for _ in 0..<1024 { hash.update(mebibyte) }
        #expect(hash.finish().hexLowercase == "8bee3cc5760cf32254a70fe9ca26fe54e5a89ca98f60410c11f7f41e1bc368de")
    }

    @Test(
        "The hash continues from its stored state",
        arguments: [0, 1, 159, 160, 161, 4_194_303, 5_000_000])
    func composedHash(place: Int) throws {
        let input = [UInt8](repeating: 0x61, count: 5_000_000)
        var dropbox = DropboxContentHash()
        dropbox.update(Array(input[..<place]))

        var second = try #require(DropboxContentHash(state: dropbox.state, length: Int64(place)))
        second.update(Array(input[place...]))

        var whole = DropboxContentHash()
        whole.update(input)
        #expect(second.finish() == whole.finish())
        #expect(DropboxContentHash(state: [1, 2], length: 2) == nil)
    }
}
