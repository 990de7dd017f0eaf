import Foundation
import HTTPTransport
import HTTPTypes
import Providers
import SyncProtocol
import TestSupport
import Testing

extension CloudProviderTests {
    @Suite("CloudProviderContract: direct transfers by users")
    struct DirectTransferTests {
        private static let uploads = ProviderUnderTest.all.filter { $0.makeProvider() is any DirectUploads }
        private static let downloads = ProviderUnderTest.all.filter { $0.makeProvider() is any DirectDownloads }
        private static let bytes = RandomData.bytes(700_000)

        /// A place for a single upload, as the endpoint reserves it.
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

        /// What a phone sends, without any token.
        private func send(_ bytes: [UInt8], to address: UploadAddress, _ storage: ContractStorage) throws -> Reply {
            try send(bytes[...], of: bytes.count, to: address, storage)
        }

        /// What a phone sends from the beginning of a file.
        private func send(
            _ bytes: ArraySlice<UInt8>, of lengthBytes: Int, to address: UploadAddress, _ storage: ContractStorage
        ) throws -> Reply {
            var request = OutgoingRequest(
                service(of: storage), .upload, address.form == .whole ? .post : .put, address.url,
                headers: [.contentType: address.contentType], body: .bytes(bytes))
            if address.form != .whole {
                request.headers[.contentRange] = "bytes 0-\(bytes.count - 1)/\(lengthBytes)"
            }
            return try storage.transport.send(request, by: .after(.seconds(20)))
        }

        private func service(of storage: ContractStorage) -> ExternalService {
            switch storage.provider.storageType {
            case .dropbox: .dropbox
            case .microsoft: .microsoft
            default: .google
            }
        }

        @Test("An address alone creates an object, whose description matches its contents", arguments: uploads)
        func upload(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let (provider, reservation, address) = try begin(storage)
            #expect(try provider.directlyUploaded(as: reservation, in: storage.access()) == nil)
            #expect(provider.uploadAddress(in: address.session, mimeType: "image/jpeg") == address)

            #expect([200, 201].contains(try send(Self.bytes, to: address, storage).status))
            let object = try #require(try provider.directlyUploaded(as: reservation, in: storage.access()))
            #expect(object.sizeBytes == Int64(Self.bytes.count))
            #expect(object.providerHash == BytesContent(Self.bytes, for: provider.storageType).providerHash)
            #expect(object.name == reservation.name)
            #expect(try storage.read(object.objectID) == Self.bytes)
        }

        @Test("Bytes that were not announced also become an object, with their own hash", arguments: uploads)
        func otherBytes(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let (provider, reservation, address) = try begin(storage)
            let other = RandomData.bytes(Self.bytes.count)
            #expect([200, 201].contains(try send(other, to: address, storage).status))
            let object = try #require(try provider.directlyUploaded(as: reservation, in: storage.access()))
            #expect(object.providerHash == BytesContent(other, for: provider.storageType).providerHash)
        }

        @Test("An address accepts nothing after it has ended; a used address has ended", arguments: uploads)
        func ending(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let (provider, reservation, address) = try begin(storage)
            let isOver = try provider.endDirectUpload(address.session, as: reservation, in: storage.access())
            let reply = try send(Self.bytes, to: address, storage)
            #expect((reply.status >= 400) == isOver, "status \(reply.status)")
            #expect((try provider.directlyUploaded(as: reservation, in: storage.access()) == nil) == isOver)

            let (_, second, used) = try begin(storage)
            #expect([200, 201].contains(try send(Self.bytes, to: used, storage).status))
            #expect(try provider.endDirectUpload(used.session, as: second, in: storage.access()))
        }

        @Test("The same upload can continue through the server at any offset", arguments: uploads, [0, 2])
        func mixed(kind: ProviderUnderTest, sentGranules: Int) throws {
            let storage = try ContractAccount(kind).open()
            let (provider, reservation, address) = try begin(storage)
            if let granule = address.granularityBytes, sentGranules > 0 {
                let sent = Self.bytes[..<(sentGranules * Int(granule))]
                let reply = try send(sent, of: Self.bytes.count, to: address, storage)
                #expect(reply.status == (address.form == .resumable ? 308 : 202))
            }
            let record = PieceContent.Record(session: address.session, position: 0, isCertain: false)
            let content = PieceContent(Self.bytes, for: kind, from: record, cut: nil)
            let stored = try provider.upload(
                content, as: reservation, mimeType: "image/jpeg", to: storage.access())
            #expect(try storage.read(stored.objectID) == Self.bytes)
        }

        @Test("Content larger than one request gets no address", arguments: uploads)
        func largest(kind: ProviderUnderTest) throws {
            let storage = try ContractAccount(kind).open()
            let provider = try #require(storage.provider as? any DirectUploads)
            let address = try provider.beginDirectUpload(
                of: (150 << 20) + 1, as: try reserve(in: storage), mimeType: "image/jpeg", to: storage.access())
            #expect((address == nil) == (provider is Dropbox))
        }

        @Test("OneDrive itself reports when an address expires, and offers no address for an empty file")
        func oneDrive() throws {
            let storage = try ContractAccount(.oneDrive).open()
            let (_, _, address) = try begin(storage)
            let until = try #require(address.expires)
            let now = Int64(Date().timeIntervalSince1970)
            #expect((now + 86_400...now + 30 * 86_400).contains(until.secondsSince1970))

            let provider = try #require(storage.provider as? any DirectUploads)
            #expect(
                try provider.beginDirectUpload(
                    of: 0, as: try reserve(in: storage), mimeType: "image/jpeg", to: storage.access()) == nil)
        }

        @Test("An address alone reads an object; a missing object has no address", arguments: downloads)
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

        @Test("An upload into a Drive folder that has meanwhile been moved to the bin is taken out of the bin")
        func folderInBin() throws {
            let kind = ProviderUnderTest.googleDrive
            let storage = try ContractAccount(kind).open()
            let (provider, reservation, address) = try begin(storage)
            let folder = try #require(reservation.folderID)
            try kind.owner.trash(folder, in: storage)
            #expect(try send(Self.bytes, to: address, storage).status == 200)

            let object = try provider.directlyUploaded(as: reservation, in: storage.access())

            #expect(object?.isInBin == false)
            #expect(storage.account.folder.folderID != folder)
        }
    }
}
