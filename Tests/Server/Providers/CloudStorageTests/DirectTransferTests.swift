import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

extension CloudProviderTests {
    @Suite("CloudProviderContract: bytes that people send and read themselves")
    struct DirectTransferTests {
        private static let uploads = ProviderUnderTest.all.filter { $0.makeProvider() is any DirectUploads }
        private static let downloads = ProviderUnderTest.all.filter { $0.makeProvider() is any DirectDownloads }
        private static let bytes = RandomData.bytes(700_000)

        /// A place of one upload alone, as the endpoint reserves it.
        private func reserve(in storage: ContractStorage) throws -> ObjectReservation {
            var reservation = try storage.provider.reserve(name: "photo.jpg", in: storage.access())
            if let spareName = reservation.spareName {
                reservation.name = spareName
                reservation.spareName = nil
            }
            return reservation
        }

        private func begin(
            _ storage: ContractStorage, of lengthBytes: Int = bytes.count
        ) throws -> (any DirectUploads, ObjectReservation, UploadAddress) {
            let provider = try #require(storage.provider as? any DirectUploads)
            let reservation = try reserve(in: storage)
            let address = try provider.beginDirectUpload(
                of: Int64(lengthBytes), as: reservation, mimeType: "image/jpeg", to: storage.access())
            return (provider, reservation, try #require(address))
        }

        /// What a phone does, without any token.
        private func send(_ bytes: [UInt8], to address: UploadAddress, _ storage: ContractStorage) throws -> Reply {
            var request = OutgoingRequest(
                storage.provider is Dropbox ? .dropbox : .google, .upload, address.form == .whole ? .post : .put,
                address.url, headers: [.contentType: address.contentType], body: .bytes(bytes[...]))
            if address.form == .resumable {
                request.headers[.contentRange] = "bytes 0-\(bytes.count - 1)/\(bytes.count)"
            }
            return try storage.transport.send(request, by: .after(.seconds(20)))
        }

        @Test("An object comes into being by its address alone, and is described as what it is", arguments: uploads)
        func upload(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let (provider, reservation, address) = try begin(storage)
            #expect(try provider.directlyUploaded(as: reservation, in: storage.access()) == nil)
            #expect(provider.uploadAddress(in: address.session, mimeType: "image/jpeg") == address)

            #expect(try send(Self.bytes, to: address, storage).status == 200)
            let object = try #require(try provider.directlyUploaded(as: reservation, in: storage.access()))
            #expect(object.sizeBytes == Int64(Self.bytes.count))
            #expect(object.providerHash == BytesContent(Self.bytes, for: provider.storageType).providerHash)
            #expect(object.name == reservation.name)
            #expect(try storage.read(object.objectID) == Self.bytes)
        }

        @Test("Other bytes than were announced are an object too, with another hash", arguments: uploads)
        func otherBytes(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let (provider, reservation, address) = try begin(storage)
            let other = RandomData.bytes(Self.bytes.count)
            #expect(try send(other, to: address, storage).status == 200)
            let object = try #require(try provider.directlyUploaded(as: reservation, in: storage.access()))
            #expect(object.providerHash == BytesContent(other, for: provider.storageType).providerHash)
        }

        @Test("Nothing comes by an address after it has ended; one that was used has ended", arguments: uploads)
        func ending(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let (provider, reservation, address) = try begin(storage)
            let isOver = try provider.endDirectUpload(address.session, as: reservation, in: storage.access())
            let reply = try send(Self.bytes, to: address, storage)
            #expect((reply.status >= 400) == isOver, "status \(reply.status)")
            #expect((try provider.directlyUploaded(as: reservation, in: storage.access()) == nil) == isOver)

            let (_, second, used) = try begin(storage)
            #expect(try send(Self.bytes, to: used, storage).status == 200)
            #expect(try provider.endDirectUpload(used.session, as: second, in: storage.access()))
        }

        @Test("The same upload goes on through us, wherever its address has got", arguments: uploads, [0, 524_288])
        func mixed(kind: ProviderUnderTest, sentBytes: Int) throws {
            let storage = try ContractAccount(kind).open()
            let (provider, reservation, address) = try begin(storage)
            if address.form == .resumable, sentBytes > 0 {
                let request = OutgoingRequest(
                    .google, .upload, .put, address.url,
                    headers: [.contentRange: "bytes 0-\(sentBytes - 1)/\(Self.bytes.count)"],
                    body: .bytes(Self.bytes[..<sentBytes]))
                #expect(try storage.transport.send(request, by: .after(.seconds(20))).status == 308)
            }
            let record = PieceContent.Record(session: address.session, position: 0, isCertain: false)
            let content = PieceContent(Self.bytes, for: kind, from: record, cut: nil)
            let stored = try provider.upload(
                content, as: reservation, mimeType: "image/jpeg", to: storage.access())
            #expect(try storage.read(stored.objectID) == Self.bytes)
        }

        @Test("What is larger than one request goes no such way", arguments: uploads)
        func largest(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let provider = try #require(storage.provider as? any DirectUploads)
            let address = try provider.beginDirectUpload(
                of: (150 << 20) + 1, as: try reserve(in: storage), mimeType: "image/jpeg", to: storage.access())
            #expect((address == nil) == (provider is Dropbox))
        }

        @Test("An object is read by its address alone; what is not there has none", arguments: downloads)
        func download(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let provider = try #require(storage.provider as? any DirectDownloads)
            let object = try storage.store(Self.bytes)
            let address = try provider.downloadAddress(of: object.objectID, in: storage.access())
            let service: ExternalService = kind.sandboxProvider == .dropbox ? .dropbox : .microsoft
            let reply = try storage.transport.send(
                OutgoingRequest(service, .download, .get, address.url), by: .after(.seconds(20)))
            #expect(reply.status == 200 && reply.body == Self.bytes)
            #expect(address.lifetimeSeconds > 0)

            try storage.provider.delete(objectID: object.objectID, in: storage.access())
            #expect(throws: CloudStorageError.notFound) {
                try provider.downloadAddress(of: object.objectID, in: storage.access())
            }
        }
    }
}
