import PhotosUI
import SwiftUI
import SyncAccounts
import SyncClient
import SyncErrorSentences
import UIKit

struct RootView: View {
    @Bindable var app: AppModel

    var body: some View {
        Group {
            if let device = app.device, app.isSignedIn {
                AlbumsView(app: app, device: device)
            } else {
                Button("Sign in with Google") { Task { await app.signIn() } }.disabled(app.device == nil)
            }
        }
        .alert("Something went wrong", isPresented: $app.problem.isPresent) {
            Button("OK") {}
        } message: {
            Text(app.problem ?? "")
        }
        .alert("Join the album?", isPresented: $app.invitation.isPresent, presenting: app.invitation) { invitation in
            Button("Join") { Task { await app.join(invitation) } }
            Button("Not now", role: .cancel) {}
        } message: { invitation in
            Text("\(invitation.invitingUserName ?? "Somebody") shares \(invitation.sharingGroupName ?? "an album").")
        }
    }
}

extension Optional {
    fileprivate var isPresent: Bool {
        get { self != nil }
        set { if !newValue { self = nil } }
    }
}

struct AlbumsView: View {
    let app: AppModel
    let device: AlbumDevice
    @State private var albums: [SharingGroup] = []
    @State private var problems = Problems()
    @State private var isNaming = false
    @State private var name = ""

    var body: some View {
        NavigationStack {
            List {
                if let error = problems.ofAll { ProblemRow(error: error, app: app) }
                ForEach(albums, id: \.sharingGroupUUID) { album in
                    NavigationLink {
                        PhotosView(app: app, device: device, album: album, problems: problems)
                    } label: {
                        Label(
                            album.sharingGroupName ?? "Album", systemImage: album.syncNeeded ? "cloud" : "photo.stack")
                    }
                }
            }
            .navigationTitle("Albums")
            .refreshable { await app.perform { try await device.client.synced() } }
            .toolbar { Button("New album", systemImage: "plus") { isNaming = true } }
            .alert("New album", isPresented: $isNaming) {
                TextField("Name", text: $name)
                Button("Create") {
                    app.perform { try device.createAlbum(name) }
                    name = ""
                }
                Button("Cancel", role: .cancel) {}
            }
        }
        .task { for await albums in device.client.sharingGroupChanges() { self.albums = albums } }
        .task { await problems.follow(device.client) }
    }
}

struct ProblemRow: View {
    let error: SyncError
    let app: AppModel

    var body: some View {
        VStack(alignment: .leading) {
            Text(error.localizedDescription)
            switch error.recovery {
            case .signInAgain: Button("Sign in again") { Task { await app.signIn() } }
            case .retryLater: Button("Try again") { app.device?.client.resumePendingUploads() }
            default: EmptyView()
            }
        }
    }
}

struct PhotosView: View {
    let app: AppModel
    let device: AlbumDevice
    let album: SharingGroup
    let problems: Problems
    @State private var photos: [Photo] = []
    @State private var picked: PhotosPickerItem?

    var body: some View {
        ScrollView {
            LazyVGrid(columns: [GridItem(.adaptive(minimum: 100))]) {
                ForEach(photos, id: \.picture.fileUUID) { photo in
                    NavigationLink {
                        PhotoView(app: app, device: device, photo: photo, problems: problems)
                    } label: {
                        Thumbnail(file: device.url(of: photo.picture))
                            .overlay(alignment: .bottomTrailing) {
                                if problems.of(photo) != nil { Image(systemName: "exclamationmark.icloud") }
                            }
                    }
                }
            }
        }
        .navigationTitle(album.sharingGroupName ?? "Album")
        .refreshable {
            // Also asks again for files whose owner had revoked the access to their storage.
            await app.perform {
                try await device.client.synced(
                    sharingGroupUUID: album.sharingGroupUUID, reAttemptGoneDownloads: true)
            }
        }
        .toolbar {
            NavigationLink {
                MembersView(app: app, client: device.client, album: album)
            } label: {
                Text("Members")
            }
            if album.permission.allows(.write) { PhotosPicker("Add", selection: $picked, matching: .images) }
        }
        .onChange(of: picked) { Task { await add() } }
        .task {
            try? device.client.sync(sharingGroupUUID: album.sharingGroupUUID)
            for await files in device.client.fileChanges(inSharingGroup: album.sharingGroupUUID) {
                photos = device.photos(in: files)
            }
        }
    }

    private func add() async {
        guard let item = picked else { return }
        picked = nil
        await app.perform {
            guard let data = try await item.loadTransferable(type: Data.self),
                let jpeg = UIImage(data: data)?.jpegData(compressionQuality: 0.9)
            else { return }
            try device.add(jpeg, title: "A photo", to: album.sharingGroupUUID)
        }
    }
}

/// Decodes a picture in its small size only.
struct Thumbnail: View {
    let file: URL
    @State private var image: UIImage?

    var body: some View {
        Image(uiImage: image ?? UIImage()).resizable().scaledToFill().frame(width: 100, height: 100).clipped()
            .task {
                let size = CGSize(width: 300, height: 300)
                image = await UIImage(contentsOfFile: file.path)?.byPreparingThumbnail(ofSize: size)
            }
    }
}

struct PhotoView: View {
    let app: AppModel
    let device: AlbumDevice
    let photo: Photo
    let problems: Problems
    @State private var discussion: Discussion?
    @State private var text = ""
    @Environment(\.dismiss) private var dismiss

    var body: some View {
        List {
            Image(uiImage: UIImage(contentsOfFile: device.url(of: photo.picture).path) ?? UIImage())
                .resizable().scaledToFit()
            if let error = problems.of(photo) {
                Text(error.localizedDescription)
                Button("Try again") { app.perform { try device.retry(photo) } }
                Button("Do not send", role: .destructive) { app.perform { try device.withdraw(photo) } }
            }
            ForEach(discussion?.messages ?? [], id: \.id) { message in
                Text("\(message.author): \(message.text)")
            }
            TextField("Comment", text: $text).onSubmit { comment() }
        }
        .navigationTitle(discussion?.title ?? "")
        .toolbar {
            Button("Remove", systemImage: "trash", role: .destructive) {
                app.perform { try device.remove(photo) }
                dismiss()
            }
        }
        .task {
            // Each change to a file of the album may be a comment.
            for await _ in device.client.fileChanges(inSharingGroup: photo.picture.sharingGroupUUID) {
                discussion = device.discussion(of: photo)
            }
        }
    }

    private func comment() {
        Task {
            let author = await device.session.account?.person.name ?? ""
            app.perform { try device.comment(text, by: author, on: photo) }
            text = ""
            discussion = device.discussion(of: photo)
        }
    }
}

struct MembersView: View {
    let app: AppModel
    let client: SyncServer
    let album: SharingGroup
    @State private var members: [SyncServer.Member] = []
    @State private var invitations: [SyncServer.Invitation] = []
    @State private var link: URL?

    private var isAdmin: Bool { album.permission == .admin }

    var body: some View {
        List {
            ForEach(members) { member in
                Menu("\(member.name): \(member.permission.rawValue)") {
                    ForEach(Permission.allCases, id: \.self) { permission in
                        Button(permission.rawValue) {
                            change {
                                try await client.setPermission(permission, of: member.id, in: album.sharingGroupUUID)
                            }
                        }
                    }
                }
                .disabled(!isAdmin || member.isOwnUser)
                .swipeActions {
                    if isAdmin, !member.isOwnUser {
                        Button("Remove", role: .destructive) {
                            change { try await client.removeMember(member.id, from: album.sharingGroupUUID) }
                        }
                    }
                }
            }
            if isAdmin {
                Section("Invitations") {
                    ForEach(invitations, id: \.code) { invitation in
                        Button("Withdraw: \(invitation.permission.rawValue)", role: .destructive) {
                            change {
                                try await client.withdrawInvitation(invitation.code, to: album.sharingGroupUUID)
                            }
                        }
                    }
                    if let link { ShareLink(item: link) } else { Button("Invite") { invite() } }
                }
            }
        }
        .navigationTitle("Members")
        .task { await load() }
    }

    private func invite() {
        change {
            let code = try await client.createSharingInvitation(
                withPermission: .write, sharingGroupUUID: album.sharingGroupUUID)
            link = try InvitationLink(bundleID: Setup.bundleID).url(for: code)
        }
    }

    private func change(_ body: @escaping @MainActor () async throws -> Void) {
        Task {
            await app.perform(body)
            await load()
        }
    }

    private func load() async {
        await app.perform {
            members = try await client.members(of: album.sharingGroupUUID)
            if isAdmin { invitations = try await client.invitations(to: album.sharingGroupUUID) }
        }
    }
}

extension AppModel {
    /// Shows the error of an action, except those of syncs, which ``Problems`` follows.
    func perform<Value>(_ action: @MainActor () async throws -> Value) async {
        do { _ = try await action() } catch {
            // The view has disappeared, not the sync.
            if !(error is CancellationError) { problem = error.localizedDescription }
        }
    }

    func perform(_ action: () throws -> Void) {
        do { try action() } catch { problem = error.localizedDescription }
    }
}
