import SyncProtocol
import Testing

@Suite("Queries of random requests")
struct QueryPropertyTests {
    /// All possible readings of a query, found by exhaustive search: an oracle for the decoder's single pass.
    ///
    /// Follows the definition literally: each piece that begins with a name either starts that parameter or is text;
    /// names are in ascending order; text may only follow free text; all required parameters are present.
    private static func readings(
        of pieces: [Substring], required: [ParameterName], names: [ParameterName]
    ) -> [[ParameterName: String]] {
        var readings: [[(ParameterName, String)]] = [[]]
        for piece in pieces {
            var next: [[(ParameterName, String)]] = []
            for reading in readings {
                let name = names.first { piece.hasPrefix($0.rawValue + "=") }
                if let name, reading.last.map({ $0.0 < name }) ?? true {
                    next.append(reading + [(name, String(piece.dropFirst(name.rawValue.count + 1)))])
                }
                if let last = reading.last, last.0.isFreeText {
                    next.append(reading.dropLast() + [(last.0, last.1 + "&" + piece)])
                } else if name == nil {
                    next.append(reading)
                }
            }
            readings = next
        }
        return readings.map { Dictionary(uniqueKeysWithValues: $0) }
            .filter { reading in required.allSatisfy { reading[$0] != nil } }
    }

    @Test(
        "A repeated parameter is resolved exactly if only one reading exists",
        arguments: 0..<2_000 as Range<UInt64>)
    func repeatedParameters(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let required: [ParameterName] = [.masterVersion, .sharingGroupUUID]
        let list = DoneUploadsRequest.parameters
        let units = [
            "masterVersion=1", "pushNotificationMessage=m", "sharingGroupName=n", "sharingGroupUUID=g",
            "testLockSync=1",
            "x", "", "x=y",
        ]
        let pieces = (0..<Int.random(in: 1...7, using: &random)).map { _ in units.randomElement(using: &random)![...] }
        let starts = pieces.compactMap { piece in list.names.first { piece.hasPrefix($0.rawValue + "=") } }
        guard Set(starts).count < starts.count else { return }

        let outcome = DecodingCase.decode(Array(pieces.joined(separator: "&").utf8), list)

        let readings = Self.readings(of: pieces, required: required, names: list.names)
        if readings.count == 1 {
            #expect(outcome == .values(readings[0]))
        } else {
            guard case .error(.repeated) = outcome else {
                Issue.record("\(readings.count) readings, but the decoder returned \(outcome)")
                return
            }
        }
    }

    @Test("Names that contain `&` are decoded unchanged", arguments: 0..<500 as Range<UInt64>)
    func ampersands(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let request = UpdateSharingGroupRequest(
            sharingGroupUUID: SharingGroupUUID(random.uuid())!,
            sharingGroupName: random.text(maximumCharacters: 30, ampersands: true),
            masterVersion: MasterVersion(.random(in: 0...Int64.max, using: &random)))

        let decoded = try UpdateSharingGroupRequest(query: request.encodedQuery)

        #expect(Array(decoded.sharingGroupName.utf8) == Array(request.sharingGroupName.utf8))
        #expect(decoded == request)
    }

    @Test("Folder and group names that contain `&` are both decoded unchanged", arguments: 0..<300 as Range<UInt64>)
    func twoFreeTexts(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let request = AddUserRequest(
            sharingGroupUUID: SharingGroupUUID(random.uuid())!,
            sharingGroupName: random.text(maximumCharacters: 20, ampersands: true),
            cloudFolderName: random.text(maximumCharacters: 20, ampersands: true))
        #expect(try AddUserRequest(query: request.encodedQuery) == request)
    }

    @Test("An upload with any metadata is decoded unchanged [325]", arguments: 0..<500 as Range<UInt64>)
    func uploads(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var contents = random.text(maximumCharacters: 60, ampersands: true)
        if Bool.random(using: &random) { contents += #"&mimeType=image/png&"}&fileUUID=\"# + contents }
        let request = UploadFileRequest(
            fileUUID: FileUUID(random.uuid())!, sharingGroupUUID: SharingGroupUUID(random.uuid())!,
            mimeType: MIMEType("text/plain")!, fileVersion: FileVersion(.random(in: 0...Int32.max, using: &random)),
            masterVersion: MasterVersion(.random(in: 0...Int64.max, using: &random)),
            checkSum: CheckSum(String(random.uuid().filter { $0 != "-" }))!,
            fileGroupUUID: Bool.random(using: &random) ? FileGroupUUID(random.uuid()) : nil,
            appMetaData: AppMetaData(
                version: AppMetaDataVersion(.random(in: 0...9, using: &random)), contents: contents),
            undeleteServerFile: .random(using: &random))

        let decoded = try UploadFileRequest(query: request.encodedQuery)

        #expect(decoded == request)
        #expect(decoded.fileUUID.rawValue == request.fileUUID.rawValue)
        #expect(decoded.appMetaData.map { Array($0.contents.utf8) } == Array(contents.utf8))
    }

    @Test("Random bytes never crash the decoder", arguments: 0..<300 as Range<UInt64>)
    func randomBytes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let units = [
            "appMetaData=", "fileUUID=", "sharingGroupName=", "masterVersion=", "&", "=", "%", "%7B", "%22", "{", "\"",
            "\\", "a", "\0", "ä",
        ]
        let query = (0..<Int.random(in: 0...40, using: &random)).map { _ in units.randomElement(using: &random)! }
            .joined()
        for list in [UploadFileRequest.parameters, DoneUploadsRequest.parameters, HealthCheckRequest.parameters] {
            _ = DecodingCase.decode(Array(query.utf8), list)
        }
        _ = try? UploadFileRequest(query: query)
        _ = try? DoneUploadsRequest(query: query)
    }
}
